import { ServiceError } from '../../../shared/errors.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import { readDeviceErrors } from './condition.ts'
import type { MountedPool } from './pool.ts'

/** Does `act`; what fails there comes out as an error of ours, which says whether the disk is full or broken. */
export async function converted<T>(pool: Pick<MountedPool, 'isReadOnly'>, act: () => T | Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (error instanceof ServiceError) throw error
    if (isErrno(error, 'ENOSPC', 'EDQUOT')) {
      throw new ServiceError('storage_full', 'The storage of this host is full.', { cause: error })
    }
    // Whoever waits for a commit that was given up is told anything.
    if (isErrno(error, ...BROKEN) || pool.isReadOnly()) throw new ServiceError('internal', DISK_FAILS, { cause: error })
    throw new ServiceError('internal', 'The storage refused the operation; the reason is logged.', { cause: error })
  }
}

/** What `bytes` gives, which programs read from the pool; they tell only in words why they failed, the pool if it was its disk. */
export async function* convertedBytes(
  pool: Pick<MountedPool, 'rootFd'>,
  bytes: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  const before = failures(pool)
  try {
    yield* bytes
  } catch (error) {
    if (signal?.aborted || failures(pool) === before) throw error
    throw new ServiceError('internal', UNREADABLE, { cause: error })
  }
}

function failures({ rootFd }: Pick<MountedPool, 'rootFd'>): number {
  const { writes, reads, flushes, corruptions, generations } = readDeviceErrors(rootFd)
  return writes + reads + flushes + corruptions + generations
}

/**
 * Whether a pool can be written to; costs two quick system calls where its image has all its blocks.
 * @throws ServiceError `internal` while it is read-only, `storage_full` while its image lacks blocks that its disk has not
 */
export async function checkWritable(pool: Pick<MountedPool, 'isReadOnly' | 'missingBytes' | 'backing'>): Promise<void> {
  if (pool.isReadOnly()) throw new ServiceError('internal', READ_ONLY)
  if (pool.missingBytes() === 0) return
  const { missingBytes, availableBytes } = await pool.backing()
  if (availableBytes < Math.min(missingBytes, LEAST_BYTES))
    throw new ServiceError('storage_full', 'The disk under the storage of this host is full.')
}

const BROKEN = ['EIO', 'EROFS', 'EUCLEAN', 'ENXIO', 'ENODEV', 'EREMOTEIO', 'ENODATA', 'EILSEQ']
const DISK_FAILS =
  'The disk of this host failed: what was asked for was not done. Health says what its operator has to do.'
const UNREADABLE =
  'What was to be read is damaged on the disk of this host: nothing was made of it. Health says what its operator has to do.'
const READ_ONLY =
  'The storage of this host takes no writes since its disk failed; reads go on. Health says what its operator has to do.'
// What a commit of the filesystem, and what boxes write before it, may take.
const LEAST_BYTES = 64 * 1024 ** 2
