import { UsageError } from '../output/failures.ts'

/**
 * Puts the box of the directory, that of its `.boxyard` file, where a command line says `.` instead of a box, or `.:PATH`. No box is
 * called so, and no verb leaves its box out: it is never doubtful which argument is the box. `shape` are the verb's arguments, such
 * as `<box> [command...]`. @throws UsageError if the directory has no box
 */
export function withDefaultBox(shape: string, given: readonly string[], box: string | null): string[] {
  const words = shape.split(' ').map((word) => word.replaceAll(/[<>[\]]/g, ''))
  const shapeAt = (index: number): string =>
    words[index] ?? (words.at(-1)?.endsWith('...') === true ? (words.at(-1) ?? '') : '')
  const name = (): string => {
    if (box === null) throw new UsageError('No box here: BOXYARD_BOX, or box = "NAME" in a file .boxyard.')
    return box
  }
  return given.map((text, index) => {
    const what = shapeAt(index).replace('...', '')
    if (BOXES.has(what) && text === '.') return name()
    if (what === SOURCE && (text === '.' || text.startsWith('.@'))) return `${name()}${text.slice(1)}`
    return PATHS.has(what) && text.startsWith('.:') ? `${name()}${text.slice(1)}` : text
  })
}

/** Names of arguments that are a box. */
const BOXES: ReadonlySet<string> = new Set(['box'])
/** That of a fork, which may be a snapshot of a box. */
const SOURCE = 'source'
/** Names of arguments that may be `BOX:PATH`. */
const PATHS: ReadonlySet<string> = new Set(['path', 'box:path', 'box:dir'])
