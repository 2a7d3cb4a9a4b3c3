import { ServiceError } from './errors.ts'

/** Refuses for want of a right: `why` names the field, permission or scope and its limit, `wayOut` says how to get it. Sentences. */
export function permissionDenied(why: string, wayOut: string): ServiceError {
  return new ServiceError('permission_denied', `${why} ${wayOut}`)
}

/** Refuses what a quota or bound leaves no room for: `why` names it, its limit and its use, `wayOut` says how to make room. Sentences. */
export function quotaExceeded(why: string, wayOut: string, cause?: unknown): ServiceError {
  return new ServiceError('quota_exceeded', `${why} ${wayOut}`, cause === undefined ? {} : { cause })
}

/** Names a list for people, of which the first few are shown. Pure. */
export function someOf(names: readonly string[]): string {
  if (names.length === 0) return 'none'
  const rest = names.length - SHOWN
  return names.slice(0, SHOWN).join(', ') + (rest > 0 ? ` and ${rest} more` : '')
}

const SHOWN = 5
