import { checked, checkedAsync, isErrno, lazyNative } from './libc.ts'

/**
 * Returns where the first data at or after `offset` begins. Null if only a hole follows. Moves the descriptor's position. Offsets are
 * bigints, since a file may be longer than numbers are exact.
 */
export function seekData(fd: number, offset: bigint): bigint | null {
  try {
    return seek(fd, offset, SEEK_DATA)
  } catch (error) {
    if (isErrno(error, 'ENXIO')) return null
    throw error
  }
}

/** As `seekData`, on a pool thread, for an offset within 2^53. Returns Infinity if only a hole follows. */
export async function seekDataAsync(fd: number, offset: number): Promise<number> {
  try {
    return Number(await checkedAsync('lseek', (done) => lseek().async(fd, BigInt(offset), SEEK_DATA, done)))
  } catch (error) {
    if (isErrno(error, 'ENXIO')) return Number.POSITIVE_INFINITY
    throw error
  }
}

/** Returns where the first hole at or after `offset` begins, which lies before the end. At the latest the end. Moves the position. */
export function seekHole(fd: number, offset: bigint): bigint {
  return seek(fd, offset, SEEK_HOLE)
}

/** Moves the position to the end, and returns the exact size. */
export function seekEnd(fd: number): bigint {
  return seek(fd, 0n, SEEK_END)
}

/** Moves the position of a descriptor. */
export function seekTo(fd: number, offset: bigint): void {
  seek(fd, offset, SEEK_SET)
}

/** Cuts a file, or lengthens it by a hole. */
export function truncateFd(fd: number, sizeBytes: bigint): void {
  checked(ftruncate()(fd, sizeBytes), 'ftruncate')
}

function seek(fd: number, offset: bigint, whence: number): bigint {
  const found = lseek()(fd, offset, whence)
  checked(Number(found), 'lseek')
  return BigInt(found)
}

const [SEEK_SET, SEEK_END, SEEK_DATA, SEEK_HOLE] = [0, 2, 3, 4]

// An offset comes as a number where that is exact, else as a bigint.
const lseek = lazyNative<(fd: number, offset: bigint, whence: number) => number>(null, 'lseek', {
  result: 'int64',
  args: ['int', 'int64', 'int'],
})
const ftruncate = lazyNative<(fd: number, sizeBytes: bigint) => number>(null, 'ftruncate', {
  result: 'int',
  args: ['int', 'int64'],
})
