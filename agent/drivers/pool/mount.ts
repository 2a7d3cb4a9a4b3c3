import fs from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import type { Logger } from '../../../shared/log.ts'
import { MS, mountFilesystemAsync } from '../../lib/syscalls/mounts.ts'
import { fileExists } from './image.ts'

export interface PoolMountRequest {
  /** The block device. */
  source: string
  target: string
  imagePath: string
  logger: Logger
}

/**
 * Mounts the filesystem of a pool. Mounts it read-only if the kernel refuses writes, as it does after a failed write until the last user
 * has unmounted it. Reads still work then.
 * @throws Error with the diagnosis of the image if it cannot be mounted at all
 */
export async function mountPoolDevice({ source, target, imagePath, logger }: PoolMountRequest): Promise<void> {
  await fs.mkdir(target, { recursive: true, mode: 0o700 })
  const mount = (flags: number): Promise<unknown> =>
    mountFilesystemAsync({
      source,
      target,
      type: 'btrfs',
      flags: FLAGS | flags,
      data: poolOptions(availableParallelism()),
    })
  try {
    await mount(0)
  } catch (error) {
    try {
      await mount(MS.RDONLY)
    } catch {
      throw new Error(`${imagePath}, the storage pool, ${await findFault(imagePath)} Nothing was changed.`, {
        cause: error,
      })
    }
    logger.error('mounted the storage pool read-only, because mounting it read-write failed', { error })
  }
}

/**
 * Returns the mount options of a pool on a host with so many CPUs. Kernel threads compress, decompress and check the data of boxes. The
 * limits of boxes do not apply to these threads. Each kind of work gets half of the CPUs. Pure.
 *
 * The kernel does not charge that work to a cgroup, and cannot forbid it. Root of a box may choose a slower compression for a directory
 * (the attribute `btrfs.compression`, whose name no filter of system calls can see). The pool's own compression costs about the same. With
 * btrfs's default number (CPUs + 2) one box took two of two CPUs besides its own, and its neighbours waited 6 times as long.
 */
export function poolOptions(cpus: number): string {
  return `${OPTIONS},thread_pool=${Math.min(THREADS_MAX, Math.max(1, Math.floor(cpus / 2)))}`
}

async function findFault(imagePath: string): Promise<string> {
  const { size } = await fs.stat(imagePath)
  const superblock = await readSuperblock(imagePath).catch(() => null)
  if (superblock === null) return 'has no known filesystem. Restore the file from a copy.'
  const { id, sizeBytes } = superblock
  if (await fileExists(`/sys/fs/btrfs/${id}`))
    return (
      'is still in use by boxes, and read-only since its disk failed. Repair the disk, stop the service, then run ' +
      '`boxyard admin down` (in a checkout: `npm run down`), which stops the boxes, and start it again.'
    )
  if (sizeBytes > size)
    return (
      `was truncated: it has ${size} bytes, but its filesystem ${sizeBytes}. Restore the whole file from a copy. Without ` +
      `one, \`truncate -s ${sizeBytes}\` of the file makes the remaining part readable.`
    )
  return (
    'cannot be mounted, though its size is right. Find the cause in the kernel log (`dmesg`), and repair its disk. ' +
    '`btrfs check --readonly` and `btrfs restore` read its content without changing it.'
  )
}

/** Reads the first copy of the superblock, or returns null if there is none. */
async function readSuperblock(imagePath: string): Promise<{ id: string; sizeBytes: number } | null> {
  const file = await fs.open(imagePath, 'r')
  try {
    const block = Buffer.alloc(SUPERBLOCK_BYTES)
    const { bytesRead } = await file.read(block, 0, block.length, SUPERBLOCK_OFFSET)
    const isThere = bytesRead === block.length && block.toString('latin1', MAGIC_OFFSET, MAGIC_OFFSET + 8) === MAGIC
    if (!isThere) return null
    const id = block.toString('hex', ID_OFFSET, ID_OFFSET + 16).replace(UUID, '$1-$2-$3-$4-$5')
    return { id, sizeBytes: Number(block.readBigUInt64LE(TOTAL_BYTES_OFFSET)) }
  } finally {
    await file.close()
  }
}

const FLAGS = MS.NOATIME | MS.NOSUID | MS.NODEV
// Loop devices report as rotational, for which btrfs delays each sync to batch others. Without `metadata_ratio`, data may take the last of
// the disk and leave no space for a name, a snapshot or a delete.
const OPTIONS = 'compress=zstd:1,nodiscard,ssd,metadata_ratio=8'
// The maximum of btrfs itself.
const THREADS_MAX = 8
const SUPERBLOCK_OFFSET = 64 * 1024
const SUPERBLOCK_BYTES = 4096
const ID_OFFSET = 0x20
const UUID = /^(.{8})(.{4})(.{4})(.{4})(.{12})$/
const MAGIC_OFFSET = 0x40
const MAGIC = '_BHRfS_M'
const TOTAL_BYTES_OFFSET = 0x70
