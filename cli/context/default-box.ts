import { UsageError } from '../output/failures.ts'
import { checkBoxName } from './names.ts'

/**
 * Puts the box of the directory, that of its `.boxyard` file, where a command line says `.` instead of a box, or `.:PATH`. No box is
 * called so, and no verb leaves its box out: it is never doubtful which argument is the box. `shape` are the verb's arguments, such
 * as `<box> [command...]`. @throws UsageError if the directory has no box, and for an argument that cannot be the name of one
 */
export function withDefaultBox(shape: string, given: readonly string[], boxOf: () => string | null): string[] {
  const name = (): string => {
    const box = boxOf()
    if (box === null)
      throw new UsageError('"." has no box in this directory. Set BOXYARD_BOX, or box = "NAME" in a .boxyard file.')
    return box
  }
  return given.map((text, index) => {
    const what = argumentAt(shape, index)
    if (BOXES.has(what)) return text === '.' ? name() : checkBoxName(text, `<${what}>`)
    if (what === SOURCE && (text === '.' || text.startsWith('.@'))) return `${name()}${text.slice(1)}`
    return PATHS.has(what) && text.startsWith('.:') ? `${name()}${text.slice(1)}` : text
  })
}

/** Tells whether an argument is a box, a path in one, or what is forked. A pure function. */
export function namesBox(shape: string, index: number): boolean {
  const what = argumentAt(shape, index)
  return BOXES.has(what) || PATHS.has(what) || what === SOURCE
}

/** Returns the name of an argument of a shape, of which the last may come again. */
function argumentAt(shape: string, index: number): string {
  const words = shape.split(' ').map((word) => word.replaceAll(/[<>[\]]/g, ''))
  const last = words.at(-1) ?? ''
  return (words[index] ?? (last.endsWith('...') ? last : '')).replace('...', '')
}

/** Names of arguments that are a box. */
const BOXES: ReadonlySet<string> = new Set(['box'])
/** That of a fork, which may be a snapshot of a box. */
const SOURCE = 'source'
/** Names of arguments that may be `BOX:PATH`. */
const PATHS: ReadonlySet<string> = new Set(['path', 'box:path', 'box:dir'])
