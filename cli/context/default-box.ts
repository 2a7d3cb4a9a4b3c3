import { UsageError } from '../output/failures.ts'
import { checkBoxName } from './names.ts'

/**
 * Replaces `.` or `.:PATH` in a command line with the box of the directory's `.boxyard` file. No box has this name and no command omits its
 * box, so it is always clear which argument is the box. `shape` holds the command's arguments, such as `<box> [command...]`.
 * @throws UsageError if the directory has no box, and for an argument that cannot be the name of a box
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

/** Returns whether an argument is a box, a path in a box, or the source of a fork. A pure function. */
export function namesBox(shape: string, index: number): boolean {
  const what = argumentAt(shape, index)
  return BOXES.has(what) || PATHS.has(what) || what === SOURCE
}

/** Returns the name of an argument of a shape. The last argument can repeat. */
function argumentAt(shape: string, index: number): string {
  const words = shape.split(' ').map((word) => word.replaceAll(/[<>[\]]/g, ''))
  const last = words.at(-1) ?? ''
  return (words[index] ?? (last.endsWith('...') ? last : '')).replace('...', '')
}

/** Names of arguments that name a box. */
const BOXES: ReadonlySet<string> = new Set(['box'])
/** Argument that names the source of a fork, which can be a snapshot of a box. */
const SOURCE = 'source'
/** Names of arguments that can be `BOX:PATH`. */
const PATHS: ReadonlySet<string> = new Set(['path', 'box:path', 'box:dir'])
