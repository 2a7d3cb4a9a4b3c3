import { posix } from 'node:path'
import type { RemotePath } from './remote-path.ts'

/**
 * The gate for names that a box or a server chose: whether a name may become one in a directory of this machine. None is empty, `.` or
 * `..`, and none leads elsewhere. A pure function.
 */
export function isLocalName(name: string, platform: NodeJS.Platform = process.platform): boolean {
  if (name === '' || name === '.' || name === '..' || name.includes('/') || name.includes('\0')) return false
  return platform !== 'win32' || !/[\\:]/.test(name)
}

/** Checks a name of a box by that gate. @throws Error */
export function checkLocalName(name: string): string {
  if (isLocalName(name)) return name
  throw new Error(`The box sent the file name ${JSON.stringify(name)}, which this system does not allow.`)
}

/**
 * Returns what a copy of a path in a box is called here: the last name of what the user typed. Where that names nothing, as in `BOX:`
 * and `BOX:/`, it is the name of the box, and never the name of a directory that the box chose, such as the home of its root. A pure function.
 */
export function copyNameOf({ box, path }: RemotePath): string {
  const name = posix.basename(posix.normalize(path))
  return name === '~' || !isLocalName(name) ? box : name
}
