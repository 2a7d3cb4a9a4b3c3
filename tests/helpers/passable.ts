import { existsSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { MS, mountFilesystem } from '../../agent/lib/syscalls/mounts.ts'
import { ROOT } from '../../infra/commands.ts'

/**
 * Returns a path to a file of this repository that users of boxes can traverse. This is the file's own path, unless a directory above it is
 * closed to them, as /root is. Then the path is below /mnt, where this mounts the repository in the tests' own mount namespace.
 */
export function passable(path: string): string {
  if (isOpenToAll(ROOT)) return path
  if (!existsSync(join(ELSEWHERE, 'package.json'))) {
    mountFilesystem({ source: ROOT, target: ELSEWHERE, type: null, flags: MS.BIND })
  }
  return join(ELSEWHERE, relative(ROOT, path))
}

/** Returns a traversable path of the Node.js that runs the tests. */
export function passableNode(): string {
  return passable(process.execPath)
}

function isOpenToAll(path: string): boolean {
  if ((statSync(path).mode & 0o001) === 0) return false
  return path === '/' || isOpenToAll(dirname(path))
}

const ELSEWHERE = '/mnt'
