import { type CodeOf, ServiceError, type ServiceErrorOptions } from './errors.ts'

/** Codes of refusals whose cause a client or the operator can remove, except by a permission or a quota. */
type RefusalCode = CodeOf<409 | 412 | 413 | 429 | 507>

/**
 * Creates a refusal because of a resource's state. `why` names the field or resource and its limit, and `wayOut` says how to resolve it.
 * Both are sentences.
 */
export function refusal(
  code: RefusalCode,
  [why, wayOut]: readonly [why: string, wayOut: string],
  options: ServiceErrorOptions = {},
): ServiceError {
  return new ServiceError(code, `${why} ${wayOut}`, options)
}

/**
 * Creates a refusal because of a missing permission. `why` names the field, permission or scope and its limit, and `wayOut` says how to get
 * it. Both are sentences.
 */
export function permissionDenied(why: string, wayOut: string): ServiceError {
  return new ServiceError('permission_denied', `${why} ${wayOut}`)
}

/**
 * Creates a refusal because of a quota or bound. `why` names it, its limit and its use, and `wayOut` says how to free capacity. Both are
 * sentences.
 */
export function quotaExceeded(why: string, wayOut: string, cause?: unknown): ServiceError {
  return new ServiceError('quota_exceeded', `${why} ${wayOut}`, cause === undefined ? {} : { cause })
}

/** Ways out that several refusals share. */
export const RESUME = 'Resume it first.'
export const OTHER_NAME = 'Choose another name, or delete that one first.'
export const FREE_POOL = 'Delete boxes, volumes, snapshots or bases, or have the operator grow the storage.'

/** Lists names for people, and shows only the first few. Pure. */
export function someOf(names: readonly string[]): string {
  if (names.length === 0) return 'none'
  const rest = names.length - SHOWN
  return names.slice(0, SHOWN).join(', ') + (rest > 0 ? ` and ${rest} more` : '')
}

const SHOWN = 5
