import fs from 'node:fs'
import type { Logger } from '../../../shared/log.ts'
import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { O, openBelow, RESOLVE, readFileMount } from '../../lib/syscalls/files.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import { AT, setFilesystemOption } from '../../lib/syscalls/mounts.ts'
import { readStartTicks } from '../host/handle.ts'
import { SHARED_MEMORY } from '../host/oci-spec.ts'
import { type MountedBox, readMounts } from './mount-table.ts'

/**
 * Sets the size of /dev/shm of a running box, but to no less than its content. Does nothing if the box has ended, or has mounted something
 * else there. The size is only a limit within the memory of the box, to which the kernel charges the content. If a box with nesting made
 * the size impossible to change, logs that.
 */
export function resizeSharedMemory(box: MountedBox, sizeMb: number, logger: Logger): void {
  const mount = readMounts(box.pid).lines.findLast(({ path }) => path === SHARED_MEMORY.destination)
  // A box with nesting may have mounted anything there, even a part of a filesystem of the host that it has.
  if (mount === undefined || mount.root !== '/') return
  if (mount.type !== SHARED_MEMORY.type || mount.source !== SHARED_MEMORY.source) return
  const fd = openMount(box, mount.id)
  if (fd === null) return
  try {
    for (let attempt = 1; ; attempt++) {
      try {
        const bytes = Math.max(sizeMb * 1024 ** 2, usedBytes(fd))
        return setFilesystemOption(fd, 'size', String(bytes))
      } catch (error) {
        // The box fills it at the same time, or has mounted it again without a size.
        if (isErrno(error, 'EINVAL') && attempt < ATTEMPTS) continue
        logger.warn('failed to resize /dev/shm of a box', { pid: box.pid, error })
        return
      }
    }
  } finally {
    closeFd(fd)
  }
}

// Returns null if another mount is there by now, or the box has ended.
function openMount({ pid, startTicks }: MountedBox, mountId: number): number | null {
  let rootFd: number | undefined
  let fd: number | undefined
  try {
    rootFd = openBelow(AT.FDCWD, `/proc/${pid}/root`, { flags: O.PATH | O.DIRECTORY })
    // Another process may have reused the pid before that was opened.
    if (readStartTicks(pid) !== startTicks) return null
    const path = SHARED_MEMORY.destination.slice(1)
    fd = openBelow(rootFd, path, { flags: O.PATH | O.DIRECTORY, resolve: RESOLVE.BENEATH | RESOLVE.NO_SYMLINKS })
    const found = readFileMount(fd)
    if (!found.isMountRoot || found.mountId !== mountId) return null
    const opened = fd
    fd = undefined
    return opened
  } catch (error) {
    if (isErrno(error, ...GONE)) return null
    throw error
  } finally {
    for (const each of [rootFd, fd]) if (each !== undefined) closeFd(each)
  }
}

function usedBytes(fd: number): number {
  const { blocks, bfree, bsize } = fs.statfsSync(`/proc/self/fd/${fd}`)
  return (blocks - bfree) * bsize
}

const GONE = ['ENOENT', 'ESRCH', 'ENOTDIR', 'ELOOP', 'EXDEV', 'EACCES']
const ATTEMPTS = 5
