import { isDeepStrictEqual } from 'node:util'
import { invalidRequest } from '../../../shared/validate.ts'

/**
 * Refuses an update that gives a field of `names` another value than `view`, the resource as the API shows it.
 * @throws ServiceError `invalid_request` with a pointer to each
 */
export function checkReadOnly(view: object, body: object, names: readonly string[]): void {
  const now = new Map<string, unknown>(Object.entries(view))
  const faults = Object.entries(body)
    .filter(([name, value]) => names.includes(name) && !isDeepStrictEqual(value, now.get(name)))
    .map(([name]) => ({ pointer: `/${name}`, detail: 'is read-only and differs from what the resource has now' }))
  if (faults.length > 0) throw invalidRequest(faults)
}
