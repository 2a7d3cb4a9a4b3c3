import { statfsSync } from 'node:fs'
import { ServiceError } from '../../../shared/errors.ts'
import { refusal } from '../../../shared/refusals.ts'

/**
 * Converts an error of SQLite on a file of `directory` to a ServiceError: `storage_full` for a full disk, `runtime_unavailable` if another
 * process holds the file, else `internal`. Returns any other error unchanged.
 */
export function convertSqliteError(error: unknown, directory: string): unknown {
  const code = resultCodeOf(error)
  if (code === null) return error
  if (code === SQLITE_FULL || (AMBIGUOUS.has(code) && isDiskFull(directory))) return storageFull(error)
  if (code === SQLITE_BUSY || code === SQLITE_LOCKED) {
    return new ServiceError(
      'runtime_unavailable',
      'Another process has locked the state of this deployment. Retry later.',
      {
        cause: error,
      },
    )
  }
  return unreadable(error)
}

/** Converts the error of a sync of a file of `directory` to `storage_full` or `internal`. */
export function convertSyncError(error: unknown, directory: string): ServiceError {
  return isDiskFull(directory) ? storageFull(error) : unreadable(error)
}

/** Returns true for the error of a full disk. */
export function isStorageFull(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'storage_full'
}

/** Returns true for the error of a file that is damaged or not a database. */
export function isDamaged(error: unknown): boolean {
  const code = resultCodeOf(error)
  return code === SQLITE_CORRUPT || code === SQLITE_NOTADB
}

/** Returns true if the unique index refused a second box that writes to a volume. */
export function isOneWriterConflict(error: unknown): boolean {
  const cause = error instanceof ServiceError ? error.cause : error
  if (typeof cause !== 'object' || cause === null || !('message' in cause)) return false
  return String(cause.message).endsWith('failed: attachments.volume_id')
}

function storageFull(cause: unknown): ServiceError {
  return refusal(
    'storage_full',
    [
      'The disk that holds the state of this deployment is full.',
      'Deletes are still taken. Have the operator make room there.',
    ],
    { cause },
  )
}

function unreadable(cause: unknown): ServiceError {
  return new ServiceError('internal', "The state could not be read or written. Find the cause in the agent's log.", {
    cause,
  })
}

function resultCodeOf(error: unknown): number | null {
  // Checks the shape, because an error of another realm (a test's sandbox) is no instance of this one's Error.
  if (typeof error !== 'object' || error === null || !('code' in error) || !('errcode' in error)) return null
  return error.code === 'ERR_SQLITE_ERROR' ? Number(error.errcode) & PRIMARY_CODE : null
}

function isDiskFull(directory: string): boolean {
  const { bavail, bsize } = statfsSync(directory)
  return bavail * bsize < FULL_BELOW_BYTES
}

// The low byte. The high ones of an extended code name the call that failed.
const PRIMARY_CODE = 0xff
const SQLITE_BUSY = 5
const SQLITE_LOCKED = 6
const SQLITE_IOERR = 10
const SQLITE_CORRUPT = 11
const SQLITE_FULL = 13
const SQLITE_CANTOPEN = 14
const SQLITE_NOTADB = 26
// SQLite reports a full disk as SQLITE_FULL only from writes, not from creating, growing or syncing a file.
const AMBIGUOUS: ReadonlySet<number> = new Set([SQLITE_IOERR, SQLITE_CANTOPEN])
const FULL_BELOW_BYTES = 65_536
