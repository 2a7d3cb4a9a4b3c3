import { O, openBelow, RESOLVE, rawBytesOf } from '../../../lib/syscalls/files.ts'
import { isErrno } from '../../../lib/syscalls/libc.ts'
import { setModified } from '../../../lib/syscalls/metadata.ts'
import type { TarEntry } from '../../../lib/tar/reader.ts'
import type { Steps } from '../../../lib/threads/task.ts'
import { type RawPath } from '../paths.ts'
import { isReadable, withFd } from '../resolve.ts'
import { entryTimeOf } from './creating.ts'

/** Times of directories, to set once their contents are complete. */
export interface DirectoryTimes {
  destinationFd: number
  waiting: { path: RawPath; seconds: number; nanoseconds: number }[]
  bytes: number
}

interface Turns {
  mustPause(): boolean
}

export function createTimes(destinationFd: number): DirectoryTimes {
  return { destinationFd, waiting: [], bytes: 0 }
}

/** Queues the time of a directory. Beyond 16 MiB, sets the queued times. */
export function* addTime(
  times: DirectoryTimes,
  { names, entry, io }: { names: readonly RawPath[]; entry: TarEntry; io: Turns },
): Steps<void> {
  // Copies, because a slice of a string keeps the whole string alive.
  const path = Buffer.from(names.join('/'), 'latin1').toString('latin1')
  times.waiting.push({ path, ...entryTimeOf(entry) })
  times.bytes += path.length + ENTRY_BYTES
  if (times.bytes > WAITING_MAX_BYTES) yield* setTimes(times, io)
}

/** Sets the queued times. Skips directories that are gone or lead through a link. */
export function* setTimes(times: DirectoryTimes, io: Turns): Steps<void> {
  const waiting = times.waiting.splice(0)
  times.bytes = 0
  for (const { path, ...time } of waiting) {
    try {
      withFd(openBelow(times.destinationFd, rawBytesOf(path), DIRECTORY), (fd) => {
        if (isReadable(fd)) setModified(fd, time)
      })
    } catch (error) {
      if (!isErrno(error, ...GONE)) throw error
    }
    if (io.mustPause()) yield 'turn'
  }
}

const DIRECTORY = {
  flags: O.PATH | O.DIRECTORY | O.NOFOLLOW,
  resolve: RESOLVE.BENEATH | RESOLVE.NO_SYMLINKS,
}
const GONE = [
  'ENOENT',
  'ENOTDIR',
  'ELOOP',
  'ESTALE',
  'EXDEV',
  'EROFS',
  'EPERM',
  'EACCES',
  'EAGAIN',
  'ENAMETOOLONG',
] as const
const ENTRY_BYTES = 64
const WAITING_MAX_BYTES = 16 * 1024 * 1024
