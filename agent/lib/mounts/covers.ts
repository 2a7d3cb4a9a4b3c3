import { closeFd } from '../syscalls/descriptors.ts'
import { O, openBelow, RESOLVE } from '../syscalls/files.ts'
import { isErrno } from '../syscalls/libc.ts'
import { attachMountTo, UMOUNT, unmount } from '../syscalls/mounts.ts'
import { enterDirectory } from '../syscalls/threads.ts'

/** A mount over an existing file or directory. Does nothing if that is missing, or the owner of the namespace has changed what is there. */
export interface Cover {
  /** Absolute path without symlinks. */
  path: string
  /** Number of mounts at the path to take away first, also busy or dead ones. */
  stale: number
  /** Detached mount from `cloneMount`. Null: none. */
  fd: number | null
}

/** Mounts and takes away all covers, in order, in the namespace of this thread, whose root is `rootFd`. */
export function coverAll(rootFd: number, covers: readonly Cover[]): 'attached' {
  for (const { path, stale, fd } of covers) {
    try {
      for (let count = 0; count < stale; count++) uncover(rootFd, path)
      if (fd !== null) coverWith(rootFd, path, fd)
    } catch (error) {
      if (!isErrno(error, ...GONE)) throw error
    }
  }
  return 'attached'
}

// By the name in its parent, because a dead filesystem can be named and not opened.
function uncover(rootFd: number, path: string): void {
  const cut = path.lastIndexOf('/')
  const parentFd = openBelow(rootFd, path.slice(1, cut), { flags: O.PATH | O.DIRECTORY, resolve: BELOW })
  try {
    enterDirectory(parentFd)
    unmount(path.slice(cut + 1), UMOUNT.DETACH | UMOUNT.NOFOLLOW)
  } finally {
    closeFd(parentFd)
  }
}

function coverWith(rootFd: number, path: string, fd: number): void {
  const targetFd = openBelow(rootFd, path.slice(1), { flags: O.PATH | O.NOFOLLOW, resolve: BELOW })
  try {
    attachMountTo(fd, targetFd)
  } finally {
    closeFd(targetFd)
  }
}

// EINVAL: nothing is mounted there.
const GONE = ['ENOENT', 'ENOTDIR', 'ELOOP', 'EXDEV', 'EACCES', 'EINVAL']
const BELOW = RESOLVE.BENEATH | RESOLVE.NO_SYMLINKS
