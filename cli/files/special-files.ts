import type { Stats } from 'node:fs'
import type { BoxHandle, Boxyard } from '../../sdk/typescript/src/boxyard.ts'
import { pathFields, pathOf } from '../../sdk/typescript/src/byte-names.ts'
import { reportLine } from '../output/terminal.ts'
import { visibleLine } from '../output/visible-text.ts'

/**
 * Returns the kind of a FIFO, socket or device, which copies omit, or null for any other file. `block` covers every device. A pure
 * function.
 */
export function specialKindOf(
  found: Pick<Stats, 'isFIFO' | 'isSocket' | 'isBlockDevice' | 'isCharacterDevice'>,
): string | null {
  if (found.isFIFO()) return 'fifo'
  if (found.isSocket()) return 'socket'
  return found.isBlockDevice() || found.isCharacterDevice() ? 'block' : null
}

/** Returns whether a type of the API is such a kind. A pure function. */
export function isSpecialKind(type: string): boolean {
  return type === 'fifo' || KINDS.has(type)
}

/** Returns the name of such a kind for people. A pure function. */
export function nameOfKind(kind: string): string {
  return NAMES[kind] ?? kind
}

/** Calls `onFound` for each socket and device below a directory of a box, down to 64 levels, with its path there and its kind. */
export async function nameSpecialFiles(
  { boxyard, box }: { boxyard: Boxyard; box: BoxHandle },
  directory: string,
  onFound: (path: string, kind: string) => void,
): Promise<void> {
  const query = { ...pathFields(directory), recursive: true, max_results: LIST_MAX }
  const path = { project: box.project, name: box.name }
  for await (const file of boxyard.list('listFiles', { path, query }))
    if (KINDS.has(file.type)) onFound(pathOf(file), file.type)
}

/** Collects what a copy omits, and names it on stderr. */
export class LeftOut {
  readonly #paths = new Map<string, string>()
  #hasSource = false

  /** Whether it has a path that the user typed as a source. */
  get hasSource(): boolean {
    return this.#hasSource
  }

  /** Adds a source of the command line, as `add` does. */
  addSource(path: string, kind: string): void {
    this.#hasSource = true
    this.add(path, kind)
  }

  /** Adds a path with its kind, such as `fifo`. Keeps one entry if it is added twice. */
  add(path: string, kind: string): void {
    this.#paths.set(path, kind)
  }

  /** Names the paths added since the last call, up to 20. */
  report(): void {
    const all = [...this.#paths]
    this.#paths.clear()
    for (const [path, kind] of all.slice(0, NAMED_MAX))
      reportLine(`boxyard: left out ${visibleLine(path)} (${nameOfKind(kind)}).`)
    if (all.length > NAMED_MAX)
      reportLine(`boxyard: left out ${all.length - NAMED_MAX} more devices, FIFOs and sockets.`)
  }
}

const KINDS: ReadonlySet<string> = new Set(['socket', 'character', 'block'])
const LIST_MAX = 10_000
const NAMED_MAX = 20
const NAMES: Readonly<Record<string, string>> = { fifo: 'FIFO', character: 'device', block: 'device' }
