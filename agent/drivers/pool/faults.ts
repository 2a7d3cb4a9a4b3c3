import { ServiceError } from '../../../shared/errors.ts'
import { FREE_POOL, refusal } from '../../../shared/refusals.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import { readDeviceErrors } from './condition.ts'
import type { MountedPool } from './pool.ts'

/** Runs `act`, and converts its errors to service errors for a full or a broken disk. */
export async function convertErrors<T>(pool: Pick<MountedPool, 'isReadOnly'>, act: () => T | Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (error instanceof ServiceError) throw error
    if (isErrno(error, 'ENOSPC', 'EDQUOT')) throw storageFull(error)
    // An aborted commit may fail its waiters with any error.
    if (isErrno(error, ...BROKEN) || pool.isReadOnly()) throw new ServiceError('internal', DISK_FAILS, { cause: error })
    throw new ServiceError('internal', 'The storage refused the operation; the reason is logged.', { cause: error })
  }
}

/** Forwards `bytes` that a program reads from the pool. If it fails, the pool's error counters show whether its disk failed. */
export async function* convertReadErrors(
  pool: Pick<MountedPool, 'rootFd'>,
  bytes: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  const before = failures(pool)
  try {
    yield* bytes
  } catch (error) {
    if (signal?.aborted) throw error
    // Names the pool here, because the error would otherwise name the place where backups are kept.
    if (isErrno(error, 'ENOSPC', 'EDQUOT')) throw storageFull(error)
    if (failures(pool) === before) throw error
    throw new ServiceError('internal', UNREADABLE, { cause: error })
  }
}

function storageFull(cause: unknown): ServiceError {
  return refusal('storage_full', ['The storage of this host is full.', FREE_POOL], { cause })
}

function failures({ rootFd }: Pick<MountedPool, 'rootFd'>): number {
  const { writes, reads, flushes, corruptions, generations } = readDeviceErrors(rootFd)
  return writes + reads + flushes + corruptions + generations
}

/**
 * Checks that a pool is writable. Costs two quick system calls if its image is fully allocated.
 * @throws ServiceError `internal` while it is read-only, `storage_full` while its image lacks blocks and its disk has no space
 */
export async function checkWritable(pool: Pick<MountedPool, 'isReadOnly' | 'missingBytes' | 'backing'>): Promise<void> {
  if (pool.isReadOnly()) throw new ServiceError('internal', READ_ONLY)
  if (pool.missingBytes() === 0) return
  const { missingBytes, availableBytes } = await pool.backing()
  if (availableBytes < Math.min(missingBytes, LEAST_BYTES))
    throw refusal('storage_full', [
      'The disk under the storage of this host is full.',
      'Have the operator make room there.',
    ])
}

const BROKEN = ['EIO', 'EROFS', 'EUCLEAN', 'ENXIO', 'ENODEV', 'EREMOTEIO', 'ENODATA', 'EILSEQ']
const DISK_FAILS =
  'The disk of this host failed, and the request was not carried out. Health tells its operator the remedy.'
const UNREADABLE =
  'The data to be read is damaged on the disk of this host, and nothing was made of it. Health tells its operator the remedy.'
const READ_ONLY =
  'The storage of this host takes no writes since its disk failed; reads go on. Health says what its operator has to do.'
// Space for a commit of the filesystem and for writes of boxes before it.
const LEAST_BYTES = 64 * 1024 ** 2
