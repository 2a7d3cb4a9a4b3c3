import { ServiceError } from '../../../shared/errors.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'

/**
 * Refuses a box that its next start would give nesting, where the operator does not allow it.
 * @throws ServiceError `nesting_not_allowed`
 */
export function checkNesting({ config }: Pick<BoxRecord, 'config'>, isAllowed: boolean): void {
  if (!config.nesting || isAllowed) return
  throw new ServiceError(
    'nesting_not_allowed',
    'This deployment does not allow `config.nesting`: set it to false, or have the operator set BOXYARD_NESTING=true.',
  )
}
