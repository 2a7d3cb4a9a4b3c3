import { posix } from 'node:path'
import type { RemotePath } from './remote-path.ts'

/**
 * Returns whether a name chosen by a box or a server is safe in a local directory. Every such name must pass this check. Rejects empty
 * names, `.`, `..`, and names that lead elsewhere. A pure function.
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
 * Returns the local name for a copy of a path in a box: the last segment of what the user typed. If that names nothing, as in `BOX:` and
 * `BOX:/`, returns the name of the box. Never returns a directory name that the box chose, such as root's home directory. A pure function.
 */
export function copyNameOf({ box, path }: RemotePath): string {
  const name = posix.basename(posix.normalize(path))
  return name === '~' || !isLocalName(name) ? box : name
}
