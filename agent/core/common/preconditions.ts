import { isDeepStrictEqual } from 'node:util'
import { refusal } from '../../../shared/refusals.ts'
import { invalidRequest } from '../../../shared/validate.ts'

/** Returns the entity tag of a record's version, or of the id of a record that never changes. */
export function etagOf(version: number | string): string {
  return `"${version}"`
}

/**
 * Refuses a change to another version than the client saw (RFC 9110 §13.1.1).
 * @throws ServiceError `precondition_failed`
 */
export function checkIfMatch(ifMatch: string | null, version: number | string): void {
  if (ifMatch === null || matchesEtag(ifMatch, etagOf(version))) return
  throw refusal('precondition_failed', [
    'The resource has changed, so If-Match names another version.',
    'Read it again, and send its new ETag.',
  ])
}

/** True if a list of entity tags, or `*`, contains `etag`, byte for byte (If-Match). */
function matchesEtag(list: string, etag: string): boolean {
  return list.split(',').some((item) => {
    const each = item.trim()
    return each === '*' || each === etag
  })
}

/** True if If-None-Match names `etag`. Compares weakly, since proxies that compress make tags weak (RFC 9110 §13.1.2). */
export function isKnownEtag(ifNoneMatch: string, etag: string): boolean {
  return matchesEtag(ifNoneMatch.replaceAll('W/', ''), etag)
}

/**
 * Refuses an update that gives a field of `names` another value than `view`, the resource as the API shows it.
 * @throws ServiceError `invalid_request` with a pointer to each
 */
export function checkReadOnly(view: object, body: object, names: readonly string[]): void {
  const now = new Map<string, unknown>(Object.entries(view))
  const faults = Object.entries(body)
    .filter(([name, value]) => names.includes(name) && !isDeepStrictEqual(value, now.get(name)))
    .map(([name]) => ({ pointer: `/${name}`, detail: 'is read-only and differs from the current value' }))
  if (faults.length > 0) throw invalidRequest(faults)
}
