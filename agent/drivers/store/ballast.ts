import { closeSync, openSync, rmSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { repeat } from '../../../shared/repeat.ts'
import { allocateFileNow } from '../../lib/syscalls/descriptors.ts'

/** Reserves space on the database's disk, so that deleting records works on a full disk. */
export interface Ballast {
  /** Frees the space. It is reserved again once the disk has twice its size. */
  release(): void
  /** Stops the checks. The file stays. */
  close(): void
}

export interface BallastOptions {
  sizeBytes: number
  /** Interval of the checks for free space after a release. */
  checkMs: number
}

/** Preallocates a file at `path`, now or as soon as the disk has twice its size. */
export function openBallast(path: string, { sizeBytes, checkMs }: BallastOptions): Ballast {
  let isTaken = take(path, sizeBytes)
  const check = (): void => {
    isTaken ||= take(path, sizeBytes)
  }
  const stop = repeat(check, { everyMs: checkMs, onError: () => undefined })
  return {
    release: () => {
      rmSync(path, { force: true })
      isTaken = false
    },
    close: stop,
  }
}

function take(path: string, sizeBytes: number): boolean {
  try {
    const { bavail, bsize } = statfsSync(dirname(path))
    const fd = openSync(path, bavail * bsize < 2 * sizeBytes ? 'r+' : 'a', 0o600)
    try {
      // A no-op for a file that has all its blocks.
      allocateFileNow(fd, 0, sizeBytes)
    } finally {
      closeSync(fd)
    }
    return true
  } catch {
    // The service runs without it, and the next check tries again.
    return false
  }
}
