import { type ErrorCode, ServiceError } from '../../../shared/errors.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import { type RawPath, showPath } from './paths.ts'

/** Translates a failed system call on a path of a box to an error for the client. Returns other errors unchanged. Pure. */
export function explainFault(raw: RawPath, error: unknown): unknown {
  for (const [code, errnos, why, wayOut] of FAULTS)
    if (isErrno(error, ...errnos)) return new ServiceError(code, `${showPath(raw)}: ${why}.${wayOut}`, { cause: error })
  return error
}

/** Runs `work`, translating its failed system calls as faults of `raw`. */
export function withFaults<T>(raw: RawPath, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw explainFault(raw, error)
  }
}

/** Codes with their errors, why, and the way out where `why` does not imply it, after a space. */
const FAULTS: readonly (readonly [ErrorCode, readonly string[], string, string])[] = [
  ['file_not_found', ['ENOENT', 'ESTALE'], 'there is no such file or directory', ''],
  ['not_a_directory', ['ENOTDIR'], 'a parent in its path is not a directory', ' Name a directory there.'],
  ['is_a_directory', ['EISDIR'], 'it is a directory', ' Name a file in it, or use the archive of the directory.'],
  ['directory_not_empty', ['ENOTEMPTY'], 'the directory is not empty', ' Remove what is in it first.'],
  ['name_taken', ['EEXIST'], 'that name is taken', ' Choose another name, or delete that file first.'],
  [
    'storage_full',
    ['ENOSPC'],
    'there is no space left on its disk',
    ' Delete files there, or raise `storage_gb` of the box or `size_gb` of the volume.',
  ],
  [
    'storage_full',
    ['EDQUOT'],
    'its disk (`storage_gb`) or the storage quota of its project is full',
    ' Delete files there, or have one of them raised.',
  ],
  ['internal', ['EIO', 'EUCLEAN'], 'it cannot be read or written whole, because the disk of the host failed there', ''],
  ['path_invalid', ['EROFS'], 'it is on a volume that is mounted read-only', ''],
  ['path_invalid', ['ELOOP'], 'it leads through a circle of links, or out of the disks of the box', ''],
  ['path_invalid', ['EXDEV'], 'it leads from one disk to another', ''],
  ['path_invalid', ['ENAMETOOLONG'], 'a name in it is longer than 255 bytes, or all of it than 4,095', ''],
  ['path_invalid', ['EBUSY'], 'a volume or file of the system is mounted there', ''],
  ['path_invalid', ['EACCES', 'EPERM', 'EOVERFLOW'], 'the file is protected from changes', ''],
  ['path_invalid', ['ENXIO', 'ENODEV'], 'it is not a file', ''],
  ['path_invalid', ['EMLINK'], 'it has as many hard links as its disk allows', ''],
  // Repeated renames during the call, or a file lease.
  ['box_busy', ['EAGAIN'], 'processes of the box keep it from being opened', ' Try again.'],
]
