import { ServiceError } from '../../../shared/errors.ts'
import type { BoxRecord } from '../../ports/store/store.ts'

/** The error that tells what a restore failed of. */
export function restoreFailed({ code, detail }: NonNullable<BoxRecord['restoreFault']>): ServiceError {
  return new ServiceError(code, `The restore failed, and the box has what it had. ${detail}`)
}

/**
 * Refuses what may not happen while a restore of the box is under way.
 * @throws ServiceError `box_busy`
 */
export function checkNoRestore({ name, restore }: BoxRecord): void {
  if (restore !== null) throw new ServiceError('box_busy', `A restore of the box "${name}" is under way.`)
}
