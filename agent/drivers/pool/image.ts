import { statSync } from 'node:fs'
import fs from 'node:fs/promises'
import path from 'node:path'
import type { Logger } from '../../../shared/log.ts'
import { runOk } from '../../lib/run.ts'
import { allocateFile } from '../../lib/syscalls/descriptors.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import type { PoolBacking } from '../../ports/pool/condition.ts'

/** The image of a pool: a fully allocated file, so that a full host disk cannot take space from the pool. */
export interface PoolImageOptions {
  /** Size of a new pool, if the host has that much to give. */
  initialBytes: number
  /** Bytes that stay free on the host's own filesystem. */
  hostReserveBytes: number
  /** Fails if the image is missing, instead of creating it. Default false. */
  isExpected?: boolean
  logger: Logger
}

/** Creates the image with an empty filesystem if there is none. Renames it into place once it is complete. */
export async function ensureImage(imagePath: string, options: PoolImageOptions): Promise<void> {
  if (await fileExists(imagePath)) return
  if (options.isExpected || (await isLink(imagePath))) {
    throw new Error(
      `${imagePath} is missing. It holds all boxes and volumes of this deployment. Mount its disk, or ` +
        'restore the file. Nothing was changed.',
    )
  }
  const room = await hostRoom(path.dirname(imagePath), options.hostReserveBytes)
  const sizeBytes = Math.min(options.initialBytes, roundDown(room))
  if (sizeBytes < MIN_POOL_BYTES) {
    throw new Error(
      `The disk of ${imagePath} has ${room} bytes above the reserve, but a pool needs ${MIN_POOL_BYTES}. ` +
        'Free some, or choose another data directory.',
    )
  }
  options.logger.info('creating the storage pool', { sizeBytes })
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

/** Grows the image durably. Returns false if the disk has no space. */
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
    // Syncs the new size before the filesystem relies on it.
    await file.sync()
    return true
  } finally {
    await file.close()
  }
}

/** Returns the missing bytes of an image, and the available bytes of its disk. */
export async function readBacking(imagePath: string, hostReserveBytes: number): Promise<PoolBacking> {
  return { missingBytes: missingBytesOf(imagePath), availableBytes: await hostRoom(imagePath, hostReserveBytes) }
}

/** Returns the bytes of missing blocks, which is 0 unless the image was copied with holes. Takes some µs. */
export function missingBytesOf(imagePath: string): number {
  const { size, blocks } = statSync(imagePath)
  return Math.max(0, size - blocks * STAT_BLOCK_BYTES)
}

/** Allocates the holes of an image, keeping its data, if the disk has space above the reserve. Returns true if it has no holes now. */
export async function backImage(imagePath: string, { hostReserveBytes, logger }: PoolImageOptions): Promise<boolean> {
  const missingBytes = missingBytesOf(imagePath)
  if (missingBytes === 0) return true
  if ((await hostRoom(imagePath, hostReserveBytes)) < missingBytes) return false
  const file = await fs.open(imagePath, 'r+')
  try {
    const { size } = await file.stat()
    // In pieces, because writes to the pool wait for each.
    for (let offset = 0; offset < size; offset += PIECE_BYTES)
      await allocateFile(file.fd, offset, Math.min(PIECE_BYTES, size - offset))
    await file.sync()
  } catch (error) {
    if (!isErrno(error, 'ENOSPC', 'EDQUOT')) throw error
    return false
  } finally {
    await file.close()
  }
  logger.info('allocated the missing blocks of the pool image', { missingBytes })
  return missingBytesOf(imagePath) === 0
}

/** Returns by how much a pool can grow above the host's reserve, up to `stepBytes`. Returns 0 below a useful minimum. */
export async function growthStep(imagePath: string, stepBytes: number, hostReserveBytes: number): Promise<number> {
  const step = Math.min(stepBytes, roundDown(await hostRoom(imagePath, hostReserveBytes)))
  return step < MIN_STEP_BYTES ? 0 : step
}

// Reads the disk of the image itself once it exists, which may be a link to another disk.
async function hostRoom(target: string, hostReserveBytes: number): Promise<number> {
  const host = await fs.statfs(target)
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

/** Returns true if the file exists. */
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
