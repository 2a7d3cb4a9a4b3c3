import { ServiceError } from '../../../shared/errors.ts'

/** The entity tag of a record's version, or of the id of one that never changes. */
export function etagOf(version: number | string): string {
  return `"${version}"`
}

/**
 * Refuses a change to another version than the client saw (RFC 9110 §13.1.1).
 * @throws ServiceError `precondition_failed`
 */
export function checkIfMatch(ifMatch: string | null, version: number | string): void {
  if (ifMatch === null || matchesEtag(ifMatch, etagOf(version))) return
  throw new ServiceError('precondition_failed', 'The resource has changed: If-Match names another version.')
}

/** Whether a list of entity tags, or `*`, holds `etag`, byte for byte (If-Match). */
function matchesEtag(list: string, etag: string): boolean {
  return list.split(',').some((item) => {
    const wanted = item.trim()
    return wanted === '*' || wanted === etag
  })
}

/** Whether If-None-Match names `etag`: weakly compared, since proxies that compress make tags weak (RFC 9110 §13.1.2). */
export function isKnownEtag(ifNoneMatch: string, etag: string): boolean {
  return matchesEtag(ifNoneMatch.replaceAll('W/', ''), etag)
}
