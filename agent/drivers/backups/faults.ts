import { ServiceError } from '../../../shared/errors.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'

/** What a client is told of an error of the place where backups are kept; the error itself is logged. */
export function storeFault(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error
  if (isErrno(error, 'ENOSPC', 'EDQUOT')) {
    return new ServiceError('storage_full', 'The place where backups are kept is full.', { cause: error })
  }
  return new ServiceError('internal', 'The place where backups are kept failed; the reason is logged.', {
    cause: error,
  })
}

/** Runs `act`; foreign errors come out converted. */
export async function withStoreFaults<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    throw storeFault(error)
  }
}
