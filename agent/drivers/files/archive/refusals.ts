import { ServiceError } from '../../../../shared/errors.ts'
import { isErrno } from '../../../lib/syscalls/libc.ts'
import type { RawPath } from '../paths.ts'

/** Refuses an entry of an archive. The message is for the client. */
export class EntryRefusedError extends Error {
  override readonly name = 'Refusal'
}

/** Splits the path of an entry. Returns none for the directory itself. Throws an EntryRefusedError. Pure. */
export function entryNames(raw: RawPath): RawPath[] {
  if (raw === '') throw new EntryRefusedError('it has no name')
  if (raw.includes('\0')) throw new EntryRefusedError('its name has a zero byte')
  if (raw.startsWith('/')) throw new EntryRefusedError('its name is absolute')
  if (raw.length > PATH_MAX) throw new EntryRefusedError(`its name is longer than ${PATH_MAX} bytes`)
  const names = raw.split('/').filter((name) => name !== '' && name !== '.')
  if (names.includes('..')) throw new EntryRefusedError('its name has a ".." in it')
  if (names.some((name) => name.length > NAME_MAX))
    throw new EntryRefusedError(`a name in it is longer than ${NAME_MAX} bytes`)
  return names
}

/**
 * Throws an EntryRefusedError for a text that no link can have. The target does not matter, since a link is created unchanged, and never
 * followed. Pure.
 */
export function checkLinkTarget(target: RawPath): void {
  if (target === '') throw new EntryRefusedError('the link leads nowhere')
  if (target.includes('\0')) throw new EntryRefusedError('the link has a zero byte in it')
  if (target.length > PATH_MAX) throw new EntryRefusedError(`the link is longer than ${PATH_MAX} bytes`)
}

/** The outcome of unpacking as it crosses threads. */
export interface UnpackedTree {
  entries: number
  refused: { path: RawPath; reason: string }[]
  refusedCount: number
}

export function newReport(): UnpackedTree {
  return { entries: 0, refused: [], refusedCount: 0 }
}

/** Records a refused entry, with the first 1,024 bytes of its path. Rethrows `error` if it is not about the entry. */
export function reportRefused(report: UnpackedTree, path: RawPath, error: unknown): void {
  const reason = reasonOf(error)
  if (reason === null) throw error
  report.refusedCount++
  if (report.refused.length < REFUSED_MAX) report.refused.push({ path: truncated(path), reason })
}

// Copies, because a slice of a string keeps the whole string alive.
function truncated(path: RawPath): RawPath {
  return Buffer.from(path.slice(0, SHOWN_BYTES), 'latin1').toString('latin1')
}

function reasonOf(error: unknown): string | null {
  if (error instanceof EntryRefusedError) return error.message
  if (error instanceof ServiceError && error.code === 'path_invalid')
    return 'it would be on a volume that is mounted read-only, or on no disk of the box'
  return REASONS.find(([errnos]) => isErrno(error, ...errnos))?.[1] ?? null
}

/** As in Linux, without the terminating zero. */
const PATH_MAX = 4095
const NAME_MAX = 255
const REFUSED_MAX = 1000
const SHOWN_BYTES = 1024
const IN_THE_WAY = 'something of another kind is in the way, or a link'
const REASONS: readonly (readonly [readonly string[], string])[] = [
  [['EEXIST', 'ENOTDIR', 'EISDIR', 'ENOTEMPTY', 'ELOOP'], IN_THE_WAY],
  [['EXDEV'], 'it leads out of the directory, or from one disk to another'],
  [['ENOENT', 'ESTALE'], 'what it needs is not there'],
  [['ENAMETOOLONG'], 'its name is too long'],
  [['EROFS'], 'it would be on a volume that is mounted read-only'],
  [['EBUSY'], 'a volume or file of the system is mounted there'],
  [['EACCES', 'EPERM', 'EOVERFLOW'], 'the box protects what is there from changes'],
  [['EMLINK'], 'what it links to has as many names as there can be'],
  [['EINVAL'], 'the disk takes no such name'],
  [['EFBIG'], 'it is longer than a file of the disk may be'],
  [['EAGAIN'], 'processes of the box keep it from being made'],
]
