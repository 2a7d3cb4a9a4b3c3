import { closeFd } from '../syscalls/descriptors.ts'
import { O, openBelow, RESOLVE } from '../syscalls/files.ts'
import { attachMountTo, pivotRoot, UMOUNT, unmount } from '../syscalls/mounts.ts'
import { enterDirectory } from '../syscalls/threads.ts'

/** Gives the mount namespace that `namespaceFd` is open on another root. */
export interface RootTask {
  act: 'root'
  namespaceFd: number
  /** A detached mount, as `cloneMount` gives it: the root to be. */
  treeFd: number
  /** Directories at the top of both roots whose mounts, with all below, go along. */
  directories: readonly string[]
  /** Detached mounts of files, and where they go, below the new root. */
  files: readonly { path: string; fd: number }[]
}

/**
 * All in the namespace whose root is its root are in the new one from now on, also those that run there already, and the
 * old one is gone. Every place in it must be there, and no link. Throws a SyscallError, with the namespace half changed:
 * nothing may run in it then.
 */
export function replaceRoot(rootFd: number, { treeFd, directories, files }: RootTask): { end: 'attached' } {
  const moved: { path: string; fd: number }[] = []
  try {
    for (const path of directories) {
      const fd = openBelow(rootFd, path, { flags: O.PATH | O.DIRECTORY, resolve: BELOW })
      moved.push({ path, fd })
    }
    attachMountTo(treeFd, rootFd)
    for (const { path, fd } of [...moved, ...files]) attachBelow(treeFd, path, fd)
    enterDirectory(treeFd)
    // Onto itself, so that no place for the old root is needed, which then lies over the new one.
    pivotRoot('.', '.')
    enterDirectory(rootFd)
    unmount('.', UMOUNT.DETACH)
  } finally {
    for (const { fd } of moved) closeFd(fd)
  }
  return { end: 'attached' }
}

function attachBelow(treeFd: number, path: string, mountFd: number): void {
  const placeFd = openBelow(treeFd, path, { flags: O.PATH | O.NOFOLLOW, resolve: BELOW | RESOLVE.NO_XDEV })
  try {
    attachMountTo(mountFd, placeFd)
  } finally {
    closeFd(placeFd)
  }
}

const BELOW = RESOLVE.BENEATH | RESOLVE.NO_SYMLINKS
