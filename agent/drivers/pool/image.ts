import { statSync } from 'node:fs'
import fs from 'node:fs/promises'
import path from 'node:path'
import type { Logger } from '../../../shared/log.ts'
import { runOk } from '../../lib/run.ts'
import { allocateFile } from '../../lib/syscalls/descriptors.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import type { PoolBacking } from '../../ports/pool/condition.ts'

/** The image of a pool: a file whose blocks all exist, so that a full host disk cannot take the pool's space away. */
export interface PoolImageOptions {
  /** Size of a new pool, if the host has that much to give. */
  initialBytes: number
  /** Bytes that stay free on the host's own filesystem. */
  hostReserveBytes: number
  /** Whether there must be one: then none is made in its place. False if left out. */
  isExpected?: boolean
  logger: Logger
}

/** Makes the image with an empty filesystem, if there is none; it takes its name when it is whole. */
export async function ensureImage(imagePath: string, options: PoolImageOptions): Promise<void> {
  if (await fileExists(imagePath)) return
  if (options.isExpected || (await isLink(imagePath))) {
    throw new Error(
      `${imagePath} is not there, and holds all boxes and volumes of this deployment: mount the disk that it is on, or ` +
        'bring the file back. Nothing was changed.',
    )
  }
  const room = await hostRoom(path.dirname(imagePath), options.hostReserveBytes)
  const sizeBytes = Math.min(options.initialBytes, roundDown(room))
  if (sizeBytes < MIN_POOL_BYTES) {
    throw new Error(
      `The disk of ${imagePath} has ${room} bytes above the reserve and a pool needs ${MIN_POOL_BYTES}: ` +
        'free some, or choose another data directory.',
    )
  }
  options.logger.info('making the storage pool', { sizeBytes })
  const draft = `${imagePath}.new`
  await fs.rm(draft, { force: true })
  const file = await fs.open(draft, 'wx', 0o600)
  try {
    await allocateFile(file.fd, 0, sizeBytes)
    await file.sync()
    await runOk('mkfs.btrfs', ['-q', '-K', '-L', 'boxyard', '-m', 'single', '-d', 'single', draft], {
      timeoutMs: 60_000,
    })
    await file.sync()
  } catch (error) {
    await fs.rm(draft, { force: true })
    throw error
  } finally {
    await file.close()
  }
  await fs.rename(draft, imagePath)
  await syncDirectory(path.dirname(imagePath))
}

/** Makes the image larger, durably; false if the disk has no room after all. */
export async function growImage(imagePath: string, stepBytes: number): Promise<boolean> {
  const file = await fs.open(imagePath, 'r+')
  try {
    const { size } = await file.stat()
    try {
      await allocateFile(file.fd, size, stepBytes)
    } catch (error) {
      if (!isErrno(error, 'ENOSPC', 'EDQUOT')) throw error
      await file.truncate(size)
      return false
    }
    // The file's new size must outlive a power cut before the filesystem counts on it.
    await file.sync()
    return true
  } finally {
    await file.close()
  }
}

/** How much of the image its disk has still to give, and has. */
export async function readBacking(imagePath: string, hostReserveBytes: number): Promise<PoolBacking> {
  return { missingBytes: missingBytesOf(imagePath), availableBytes: await hostRoom(imagePath, hostReserveBytes) }
}

/** How much of the image its disk has still to give: 0 but for one that was copied with holes. At once: some µs. */
export function missingBytesOf(imagePath: string): number {
  const { size, blocks } = statSync(imagePath)
  return Math.max(0, size - blocks * STAT_BLOCK_BYTES)
}

/**
 * Gives an image that has holes all its blocks, if the disk has as many above the reserve; what it holds stays. True if it
 * has them now.
 */
export async function backImage(imagePath: string, { hostReserveBytes, logger }: PoolImageOptions): Promise<boolean> {
  const missingBytes = missingBytesOf(imagePath)
  if (missingBytes === 0) return true
  if ((await hostRoom(imagePath, hostReserveBytes)) < missingBytes) return false
  const file = await fs.open(imagePath, 'r+')
  try {
    const { size } = await file.stat()
    // In pieces: whoever writes to the pool waits for each.
    for (let offset = 0; offset < size; offset += PIECE_BYTES)
      await allocateFile(file.fd, offset, Math.min(PIECE_BYTES, size - offset))
    await file.sync()
  } catch (error) {
    if (!isErrno(error, 'ENOSPC', 'EDQUOT')) throw error
    return false
  } finally {
    await file.close()
  }
  logger.info('the image of the storage pool had holes and has all its blocks now', { missingBytes })
  return missingBytesOf(imagePath) === 0
}

/** How much a pool may grow by, up to `stepBytes`, without touching the host's reserve; 0 if less than is worth it. */
export async function growthStep(imagePath: string, stepBytes: number, hostReserveBytes: number): Promise<number> {
  const step = Math.min(stepBytes, roundDown(await hostRoom(imagePath, hostReserveBytes)))
  return step < MIN_STEP_BYTES ? 0 : step
}

// Of the image itself once there is one: it may be a link to another disk.
async function hostRoom(place: string, hostReserveBytes: number): Promise<number> {
  const host = await fs.statfs(place)
  return Math.max(0, host.bavail * host.bsize - hostReserveBytes)
}

async function syncDirectory(directory: string): Promise<void> {
  const handle = await fs.open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function isLink(file: string): Promise<boolean> {
  const stat = await fs.lstat(file).catch(() => null)
  return stat?.isSymbolicLink() === true
}

/** Whether there is such a file. */
export async function fileExists(file: string): Promise<boolean> {
  try {
    await fs.stat(file)
    return true
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return false
    throw error
  }
}

function roundDown(bytes: number): number {
  return bytes - (bytes % ROUND_BYTES)
}

const ROUND_BYTES = 1024 * 1024
const STAT_BLOCK_BYTES = 512
const PIECE_BYTES = 256 * ROUND_BYTES
// The kernel resizes nothing below 256 MiB.
const MIN_POOL_BYTES = 256 * ROUND_BYTES
const MIN_STEP_BYTES = 32 * ROUND_BYTES
