import { closeSync, openSync, rmSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { allocateFileNow } from '../../lib/syscalls/descriptors.ts'

/** Room on the disk of the database, kept so that there is some left to delete with. */
export interface Ballast {
  /** Gives the room up; it is taken again once the disk has plenty. */
  release(): void
  /** Ends the upkeep; the room stays taken. */
  close(): void
}

export interface BallastOptions {
  sizeBytes: number
  /** How often a released one looks for room. */
  checkMs: number
}

/** A file of real blocks at `path`, made now or as soon as the disk has twice its size. */
export function openBallast(path: string, { sizeBytes, checkMs }: BallastOptions): Ballast {
  let isTaken = take(path, sizeBytes)
  const timer = setInterval(() => {
    isTaken ||= take(path, sizeBytes)
  }, checkMs)
  timer.unref()
  return {
    release: () => {
      rmSync(path, { force: true })
      isTaken = false
    },
    close: () => clearInterval(timer),
  }
}

function take(path: string, sizeBytes: number): boolean {
  try {
    const { bavail, bsize } = statfsSync(dirname(path))
    const fd = openSync(path, bavail * bsize < 2 * sizeBytes ? 'r+' : 'a', 0o600)
    try {
      // Of one that is whole, which a full disk must not lose, this changes nothing.
      allocateFileNow(fd, 0, sizeBytes)
    } finally {
      closeSync(fd)
    }
    return true
  } catch {
    // Whatever the disk has against it: the service runs without, and the next look tries again.
    return false
  }
}
