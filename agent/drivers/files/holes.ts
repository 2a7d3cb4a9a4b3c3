import { ServiceError } from '../../../shared/errors.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import { seekData, seekEnd, seekHole, seekTo } from '../../lib/syscalls/sparse.ts'
import { type DataRange, RANGES_MAX, type SparseLayout, TOO_MANY } from '../../lib/tar/sparse.ts'
import type { Steps } from '../../lib/threads/task.ts'
import { type RawPath, showPath } from './paths.ts'

interface Pausing {
  mustPause(): boolean
}

/**
 * Finds the data of an open file that has 1 MiB of holes or more; null for another file. Smaller holes are packed as zeros, which every
 * program reads. Leaves the position at the start.
 * @throws ServiceError `path_invalid` if there are more than 65,536 pieces of data
 */
export function* findHoles(
  io: Pausing,
  fd: number,
  { path, sizeBytes, piecesMax = RANGES_MAX }: { path: RawPath; sizeBytes: number; piecesMax?: number },
): Steps<SparseLayout | null> {
  if (sizeBytes < HOLES_MIN || !hasHole(fd)) return null
  const ranges: DataRange[] = []
  const size = seekEnd(fd)
  let dataBytes = 0n
  for (let start = seekData(fd, 0n); start !== null && start < size; ) {
    if (ranges.length === piecesMax) throw tooManyPieces(path, size)
    const end = minOf(seekHole(fd, start), size)
    ranges.push({ start, sizeBytes: Number(end - start) })
    dataBytes += end - start
    if (io.mustPause()) yield 'turn'
    start = end < size ? seekData(fd, end) : null
  }
  seekTo(fd, 0n)
  return size - dataBytes < HOLES_MIN ? null : { sizeBytes: size, ranges }
}

/** Returns true if an open file has a hole before its end. Leaves the position at the start. */
export function hasHole(fd: number): boolean {
  try {
    const end = seekEnd(fd)
    const isSparse = end > 0n && seekHole(fd, 0n) < end
    seekTo(fd, 0n)
    return isSparse
  } catch (error) {
    // The filesystem does not tell, or the file became shorter meanwhile.
    if (isErrno(error, 'EINVAL', 'ENXIO')) return false
    throw error
  }
}

function minOf(one: bigint, other: bigint): bigint {
  return one < other ? one : other
}

function tooManyPieces(path: RawPath, sizeBytes: bigint): ServiceError {
  const detail = `${showPath(path)}: ${TOO_MANY}, in ${sizeBytes} bytes. Copy it without holes (cp --sparse=never), or leave it out.`
  return new ServiceError('path_invalid', detail)
}

const HOLES_MIN = 1024 ** 2
