import { ServiceError } from '../../../shared/errors.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'

/** Converts an error of the backup store for clients; the error itself is logged. */
export function storeFault(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error
  if (isErrno(error, 'ENOSPC', 'EDQUOT')) {
    return new ServiceError('storage_full', 'The place where backups are kept is full.', { cause: error })
  }
  return new ServiceError('internal', 'The place where backups are kept failed; the reason is logged.', {
    cause: error,
  })
}

/** Runs `act`; converts foreign errors with `storeFault`. */
export async function withStoreFaults<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    throw storeFault(error)
  }
}
