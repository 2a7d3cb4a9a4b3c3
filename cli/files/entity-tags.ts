/**
 * Returns the entity tag of an answer, as `If-Match` takes it: a proxy that compresses makes it weak, and a weak one matches none
 * (RFC 9110 §13.1.1). Null: it has none.
 */
export function strongEtag(headers: Headers): string | null {
  return headers.get('etag')?.replace(/^W\//, '') ?? null
}
