import { ServiceError } from '../../../../shared/errors.ts'
import { isErrno } from '../../../lib/syscalls/libc.ts'
import type { RawPath } from '../paths.ts'
import { RefusedName } from './names.ts'

/** What became of an archive, as it crosses threads. */
export interface UnpackedTree {
  entries: number
  refused: { path: RawPath; reason: string }[]
  refusedCount: number
}

export function newReport(): UnpackedTree {
  return { entries: 0, refused: [], refusedCount: 0 }
}

/** Notes that an entry is left out, with the first 1,024 bytes of its path. Throws `error` if that is no reason for it. */
export function reportRefusedName(report: UnpackedTree, path: RawPath, error: unknown): void {
  const reason = reasonOf(error)
  if (reason === null) throw error
  report.refusedCount++
  if (report.refused.length < REFUSED_MAX) report.refused.push({ path: shown(path), reason })
}

// A copy: a mere slice of a string keeps all of it.
function shown(path: RawPath): RawPath {
  return Buffer.from(path.slice(0, SHOWN_BYTES), 'latin1').toString('latin1')
}

function reasonOf(error: unknown): string | null {
  if (error instanceof RefusedName) return error.message
  if (error instanceof ServiceError && error.code === 'path_invalid')
    return 'it would be on a volume that is mounted read-only, or on no disk of the box'
  return REASONS.find(([errnos]) => isErrno(error, ...errnos))?.[1] ?? null
}

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
  [['EAGAIN'], 'processes of the box keep it from being made'],
]
