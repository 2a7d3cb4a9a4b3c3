import { reportLine } from '../output/terminal.ts'
import { visibleLine } from '../output/visible-text.ts'

/** Collects what a copy leaves out, and names it on stderr. */
export class LeftOut {
  readonly #paths = new Map<string, string>()

  /** Adds a path with its kind, such as `fifo`; once if it is added again. */
  add(path: string, kind: string): void {
    this.#paths.set(path, kind)
  }

  /** Names what was added since the last call, up to 20 paths. */
  report(): void {
    const all = [...this.#paths]
    this.#paths.clear()
    for (const [path, kind] of all.slice(0, NAMED_MAX))
      reportLine(`boxyard: left out ${visibleLine(path)}: it is a ${NAMES[kind] ?? kind}.`)
    if (all.length > NAMED_MAX)
      reportLine(`boxyard: left out ${all.length - NAMED_MAX} more devices, FIFOs and sockets.`)
  }
}

const NAMED_MAX = 20
const NAMES: Readonly<Record<string, string>> = { fifo: 'FIFO', character: 'device', block: 'device' }
