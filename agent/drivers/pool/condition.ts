import fs from 'node:fs/promises'
import { controlBuffer } from '../../lib/syscalls/descriptors.ts'
import type { Allocation, DeviceErrors } from '../../ports/pool/condition.ts'

/** Reads from the kernel how much space is allocated to data or metadata, and used. */
export async function readAllocation(filesystemId: string, kind: 'data' | 'metadata'): Promise<Allocation> {
  const directory = `/sys/fs/btrfs/${filesystemId}/allocation/${kind}`
  const read = async (name: string): Promise<number> => Number(await fs.readFile(`${directory}/${name}`, 'utf8'))
  // The kernel always reserves much more for metadata than it comes to need.
  const reserved = kind === 'data' ? await read('bytes_may_use') : 0
  return {
    totalBytes: await read('total_bytes'),
    usedBytes: await read('bytes_used'),
    pendingBytes: (await read('bytes_reserved')) + reserved,
  }
}

/** Reads the error counters of the pool's only device. */
export function readDeviceErrors(rootFd: number): DeviceErrors {
  return deviceErrors(rootFd, 0n)
}

/** Resets the counters. The reset is persistent from the next commit on. */
export function resetDeviceErrors(rootFd: number): void {
  deviceErrors(rootFd, DEV_STATS_RESET)
}

function deviceErrors(rootFd: number, flags: bigint): DeviceErrors {
  // `btrfs_ioctl_get_dev_stats`
  const stats = Buffer.alloc(DEV_STATS_BYTES)
  stats.writeBigUInt64LE(DEVICE_ID, 0)
  stats.writeBigUInt64LE(5n, 8)
  stats.writeBigUInt64LE(flags, 16)
  controlBuffer(rootFd, GET_DEV_STATS, stats)
  const value = (index: number): number => Number(stats.readBigUInt64LE(24 + index * 8))
  return { writes: value(0), reads: value(1), flushes: value(2), corruptions: value(3), generations: value(4) }
}

/**
 * Runs `work`, whose writes reach the disk before it ends. The kernel reports lost writes to a sync of the file, but not to a snapshot of
 * it, so this compares the device's error counters.
 * @throws SyscallError EIO if the disk refused a write during `work`
 */
export async function withSoundWrites<T>(rootFd: number, work: () => T | Promise<T>): Promise<T> {
  const before = failedWrites(rootFd)
  const result = await work()
  if (failedWrites(rootFd) === before) return result
  throw Object.assign(new Error('the disk refused a write'), { code: 'EIO' })
}

function failedWrites(rootFd: number): number {
  const { writes, flushes } = readDeviceErrors(rootFd)
  return writes + flushes
}

/** The progress of a scrub. */
export interface ScrubProgress {
  checkedBytes: number
  errors: number
}

/** Reads the progress of the running scrub. Throws a SyscallError ENOTCONN if there is none. */
export function readScrubProgress(rootFd: number): ScrubProgress {
  // `btrfs_ioctl_scrub_args`
  const args = Buffer.alloc(SCRUB_BYTES)
  args.writeBigUInt64LE(DEVICE_ID, 0)
  controlBuffer(rootFd, SCRUB_PROGRESS, args)
  const value = (index: number): number => Number(args.readBigUInt64LE(32 + index * 8))
  return { checkedBytes: value(2) + value(3), errors: value(4) + value(5) + value(6) + value(9) }
}

/** Cancels the running scrub, of any process, which has ended on return. Throws as `readScrubProgress`. */
export function cancelScrub(rootFd: number): void {
  controlBuffer(rootFd, SCRUB_CANCEL, Buffer.alloc(8))
}

const GET_DEV_STATS = 0xc4089434
const DEV_STATS_BYTES = 1032
const DEV_STATS_RESET = 1n
const SCRUB_CANCEL = 0x941c
const SCRUB_PROGRESS = 0xc400941d
const SCRUB_BYTES = 1024
const DEVICE_ID = 1n
