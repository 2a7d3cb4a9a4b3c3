import { statfsSync } from 'node:fs'
import { ServiceError } from '../../../shared/errors.ts'

/**
 * An error of SQLite on a file of `directory` as one of ours: `storage_full` for a full disk, `runtime_unavailable` if
 * another process holds the file, else `internal`. What is no error of SQLite comes back as it is.
 */
export function convertSqliteError(error: unknown, directory: string): unknown {
  const code = resultCodeOf(error)
  if (code === null) return error
  if (code === SQLITE_FULL || (AMBIGUOUS.has(code) && isDiskFull(directory))) {
    return new ServiceError('storage_full', 'The disk that holds the state of this deployment is full.', {
      cause: error,
    })
  }
  if (code === SQLITE_BUSY || code === SQLITE_LOCKED) {
    return new ServiceError('runtime_unavailable', 'Another process holds the state of this deployment; try again.', {
      cause: error,
    })
  }
  return new ServiceError('internal', 'The state could not be read or written; the reason is logged.', { cause: error })
}

/** Whether `error` says that the disk is full. */
export function isStorageFull(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'storage_full'
}

/** Whether `error` says that a volume has another box that writes to it. */
export function isOneWriterConflict(error: unknown): boolean {
  const cause = error instanceof ServiceError ? error.cause : error
  if (typeof cause !== 'object' || cause === null || !('message' in cause)) return false
  return String(cause.message).endsWith('failed: attachments.volume_id')
}

function resultCodeOf(error: unknown): number | null {
  // By its shape: an error from another realm (a test's sandbox) is no instance of this one's Error.
  if (typeof error !== 'object' || error === null || !('code' in error) || !('errcode' in error)) return null
  return error.code === 'ERR_SQLITE_ERROR' ? Number(error.errcode) & PRIMARY_CODE : null
}

function isDiskFull(directory: string): boolean {
  const { bavail, bsize } = statfsSync(directory)
  return bavail * bsize < FULL_BELOW_BYTES
}

// The low byte; the rest of an extended code tells which call failed.
const PRIMARY_CODE = 0xff
const SQLITE_BUSY = 5
const SQLITE_LOCKED = 6
const SQLITE_IOERR = 10
const SQLITE_FULL = 13
const SQLITE_CANTOPEN = 14
// SQLite tells a full disk by its own code only where it writes: not where it makes, grows or syncs a file.
const AMBIGUOUS: ReadonlySet<number> = new Set([SQLITE_IOERR, SQLITE_CANTOPEN])
const FULL_BELOW_BYTES = 65_536
