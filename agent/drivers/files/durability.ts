import { closeFd, controlBuffer, controlBufferAsync } from '../../lib/syscalls/descriptors.ts'
import { syncFd } from '../../lib/syscalls/directories.ts'

/**
 * What a task leaves to the main thread, whose pool may wait for a disk while the thread of the task does what others want:
 * to fill a file, to settle what it holds, to sync it, and to sync all of the disk it is on. Each is answered when it is done.
 */
export type MainThreadTask = { act: 'fill' | 'settle' | 'sync' | 'commit'; fd: number }

/**
 * Has what was written into a file lie where it is to lie, so that a btrfs which commits a name of it commits that too: without
 * it a name can come to the disk before what it names. It costs half of a sync, since nothing is flushed and nobody waits for
 * the disk's log. Throws what writing failed of.
 */
export function settleFile(fd: number): void {
  controlBuffer(fd, FIEMAP, Buffer.from(FIEMAP_ALL))
}

/** As `settleFile`, on a pool thread. */
export async function settleLargeFile(fd: number): Promise<void> {
  await controlBufferAsync(fd, FIEMAP, Buffer.from(FIEMAP_ALL))
}

/** Brings what was changed in directories to the disk, and closes them. */
export function syncChanges(directoryFds: readonly number[]): void {
  try {
    directoryFds.forEach(syncFd)
  } finally {
    directoryFds.forEach(closeFd)
  }
}

// FS_IOC_FIEMAP of linux/fs.h, for no extents at all: with FIEMAP_FLAG_SYNC it waits until those of all bytes are entered.
const FIEMAP = 0xc020660b
const FIEMAP_ALL = new Uint8Array(32).fill(0xff, 8, 16).fill(1, 16, 17)
