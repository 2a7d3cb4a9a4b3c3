/**
 * Returns the entity tag of an answer as `If-Match` takes it, or null if it has none. A proxy that compresses makes the tag weak, and a
 * weak one matches nothing (RFC 9110 §13.1.1).
 */
export function strongEtag(headers: Headers): string | null {
  return headers.get('etag')?.replace(/^W\//, '') ?? null
}
