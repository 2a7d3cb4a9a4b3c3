import { closeFd, controlBuffer, controlBufferAsync } from '../../lib/syscalls/descriptors.ts'
import { syncFd } from '../../lib/syscalls/directories.ts'

/**
 * Work that a task leaves to the main thread, whose libuv pool may wait for a disk while the file thread serves other tasks. It can fill a
 * file, allocate its extents (`settle`), sync it, or sync its whole filesystem (`commit`). The main thread answers each when done.
 */
export type MainThreadTask = { act: 'fill' | 'settle' | 'sync' | 'commit'; fd: number }

/**
 * Waits until the written extents of a file are in its btrfs tree, so that a commit of its name commits them too. Without it a name can
 * become durable before its data. It costs half of a sync, because it neither flushes nor waits for the log. Throws errors of write-back.
 */
export function settleFile(fd: number): void {
  controlBuffer(fd, FIEMAP, Buffer.from(FIEMAP_ALL))
}

/** As `settleFile`, on a pool thread. */
export async function settleLargeFile(fd: number): Promise<void> {
  await controlBufferAsync(fd, FIEMAP, Buffer.from(FIEMAP_ALL))
}

/** Syncs changed directories, and closes them. */
export function syncChanges(directoryFds: readonly number[]): void {
  try {
    directoryFds.forEach(syncFd)
  } finally {
    directoryFds.forEach(closeFd)
  }
}

// FS_IOC_FIEMAP of linux/fs.h, for zero extents. With FIEMAP_FLAG_SYNC it waits for write-back of the whole file.
const FIEMAP = 0xc020660b
const FIEMAP_ALL = new Uint8Array(32).fill(0xff, 8, 16).fill(1, 16, 17)
