import { ServiceError } from '../../../shared/errors.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'

/** Converts an error of a backup store for clients; `cause` is logged in its place. */
export function storeFault(error: unknown, isFull = isErrno(error, 'ENOSPC', 'EDQUOT'), cause = error): ServiceError {
  if (error instanceof ServiceError) return error
  return isFull
    ? new ServiceError('storage_full', 'The place where backups are kept is full.', { cause })
    : new ServiceError('internal', 'The place where backups are kept failed; the reason is logged.', { cause })
}

/** Runs `act`; converts foreign errors with `storeFault`. */
export async function withStoreFaults<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    throw storeFault(error)
  }
}
