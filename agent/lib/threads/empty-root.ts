import { closeFd } from '../syscalls/descriptors.ts'
import { makeDirectoryAt, O, openBelow } from '../syscalls/files.ts'
import { AT, attachMountTo, cloneMount, MS, mountFilesystem, pivotRoot, UMOUNT, unmount } from '../syscalls/mounts.ts'
import { enterDirectory, unshareMounts } from '../syscalls/threads.ts'

/**
 * Gives this thread a mount namespace whose root is empty but for /proc: no path leads to a file of the host, what is mounted
 * there is seen by nobody else, and it goes with the thread. Everything the thread needs of the disk must be loaded.
 */
export function enterEmptyRoot(): void {
  unshareMounts()
  mountFilesystem({ source: null, target: '/', type: null, flags: MS.REC | MS.PRIVATE })
  const procFd = cloneMount(AT.FDCWD, '/proc')
  // Any directory serves to mount the new root on, as long as it is there for sure.
  mountFilesystem({ source: 'tmpfs', target: '/proc', type: 'tmpfs', flags: LOCKED, data: 'size=1m,mode=700' })
  const rootFd = openBelow(AT.FDCWD, '/proc', DIRECTORY)
  makeDirectoryAt(rootFd, 'proc', 0o755)
  const placeFd = openBelow(rootFd, 'proc', DIRECTORY)
  attachMountTo(procFd, placeFd)
  enterDirectory(rootFd)
  // Onto itself, so that no place for the old root is needed, which then lies over the new one. With it goes our copy of every
  // mount of the agent, which would keep its disk busy.
  pivotRoot('.', '.')
  unmount('.', UMOUNT.DETACH)
  for (const fd of [procFd, placeFd, rootFd]) closeFd(fd)
}

const LOCKED = MS.NOSUID | MS.NODEV | MS.NOEXEC
const DIRECTORY = { flags: O.PATH | O.DIRECTORY }
