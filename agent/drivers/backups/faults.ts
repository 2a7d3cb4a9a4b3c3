import { ServiceError } from '../../../shared/errors.ts'
import { refusal } from '../../../shared/refusals.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'

/** Converts an error of a backup store for clients. Logs `cause` instead of the error. */
export function storeFault(error: unknown, isFull = isErrno(error, 'ENOSPC', 'EDQUOT'), cause = error): ServiceError {
  if (error instanceof ServiceError) return error
  return isFull
    ? refusal(
        'storage_full',
        [
          'The place where backups are kept is full.',
          'Delete backups, or have the operator give that place more room.',
        ],
        { cause },
      )
    : new ServiceError('internal', 'The place where backups are kept failed; the reason is logged.', { cause })
}

/** Runs `act`, and converts foreign errors with `storeFault`. */
export async function withStoreFaults<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    throw storeFault(error)
  }
}
