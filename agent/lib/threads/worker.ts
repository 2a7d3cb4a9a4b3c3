import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { closeFd } from '../syscalls/descriptors.ts'
import { makeDirectoryAt, O, openBelow } from '../syscalls/files.ts'
import { bindLibc } from '../syscalls/libc.ts'
import { AT, attachMountTo, cloneMount, MS, mountFilesystem, pivotRoot, UMOUNT, unmount } from '../syscalls/mounts.ts'
import { enterDirectory, keepCapabilities, setUmask, unshareMounts } from '../syscalls/threads.ts'
import { serveTasks } from './scheduler.ts'
import type { TaskTable } from './task.ts'

const LOCKED = MS.NOSUID | MS.NODEV | MS.NOEXEC
const DIRECTORY = { flags: O.PATH | O.DIRECTORY }

// The worker of `createFileThreads`. Reports that it is ready, then runs tasks of the module it was given.
const { module, niceness } = workerData as { module: string; niceness: number }
const { tasks } = (await import(module)) as { tasks: TaskTable }
// Affects only this thread, since Linux schedules threads and 0 is the calling one.
setPriority(0, niceness)
bindLibc()
enterEmptyRoot()
setUmask(0)
keepCapabilities()
if (parentPort !== null) serveTasks(parentPort, tasks)
parentPort?.postMessage({ act: 'alive' })

/**
 * Gives this thread a mount namespace whose root is empty but for /proc. No path leads to a file of the host. Mounts made there are
 * visible to this thread only and vanish with it. Load every module that the thread needs before.
 */
function enterEmptyRoot(): void {
  unshareMounts()
  mountFilesystem({ source: null, target: '/', type: null, flags: MS.REC | MS.PRIVATE })
  const procFd = cloneMount(AT.FDCWD, '/proc')
  // Mounts the new root on /proc because that directory certainly exists. Any other would do.
  mountFilesystem({ source: 'tmpfs', target: '/proc', type: 'tmpfs', flags: LOCKED, data: 'size=1m,mode=700' })
  const rootFd = openBelow(AT.FDCWD, '/proc', DIRECTORY)
  makeDirectoryAt(rootFd, 'proc', 0o755)
  const mountPointFd = openBelow(rootFd, 'proc', DIRECTORY)
  attachMountTo(procFd, mountPointFd)
  enterDirectory(rootFd)
  // Pivots onto itself, which needs no directory for the old root and stacks that over the new one. Unmounting it drops this
  // namespace's copies of the agent's mounts, which would keep its disk busy.
  pivotRoot('.', '.')
  unmount('.', UMOUNT.DETACH)
  for (const fd of [procFd, mountPointFd, rootFd]) closeFd(fd)
}
