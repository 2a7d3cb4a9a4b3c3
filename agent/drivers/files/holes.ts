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
 * Finds the data of an open file that has 1 MiB of holes or more, or returns null for another file. Archives store smaller holes as zeros,
 * which every program reads. Leaves the position at the start.
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
  for (let data = nextData(fd, 0n, size); data !== null; data = nextData(fd, data.end, size)) {
    if (ranges.length === piecesMax) throw tooManyPieces(path, size)
    const { start, end } = data
    ranges.push({ start, sizeBytes: Number(end - start) })
    dataBytes += end - start
    if (io.mustPause()) yield 'turn'
  }
  seekTo(fd, 0n)
  return size - dataBytes < HOLES_MIN ? null : { sizeBytes: size, ranges }
}

/** Counts the bytes of holes in a part of an open file, and stops once they are more than `maxBytes`. Leaves the position at the start. */
export function* countHoles(
  io: Pausing,
  fd: number,
  { start, end, maxBytes }: { start: number; end: number; maxBytes: number },
): Steps<number> {
  const last = BigInt(end)
  let [at, holeBytes] = [BigInt(start), 0n]
  for (; at < last && holeBytes <= maxBytes; ) {
    const data = nextData(fd, at, last)
    holeBytes += (data?.start ?? last) - at
    at = data?.end ?? last
    if (io.mustPause()) yield 'turn'
  }
  seekTo(fd, 0n)
  return Number(holeBytes)
}

/** Returns true if an open file has a hole before its end. Leaves the position at the start. */
export function hasHole(fd: number): boolean {
  try {
    const end = seekEnd(fd)
    return end > 0n && seekHole(fd, 0n) < end
  } catch (error) {
    // The filesystem cannot find holes, or another program shortened the file.
    if (isErrno(error, 'EINVAL', 'ENXIO')) return false
    throw error
  } finally {
    seekTo(fd, 0n)
  }
}

/** Returns the first data at or after `from`, cut at `limit`. Returns null if there is none before that, or the file became shorter. */
function nextData(fd: number, from: bigint, limit: bigint): { start: bigint; end: bigint } | null {
  if (from >= limit) return null
  const start = seekData(fd, from)
  if (start === null || start >= limit) return null
  try {
    return { start, end: minOf(seekHole(fd, start), limit) }
  } catch (error) {
    if (isErrno(error, 'ENXIO')) return null
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
