import { ServiceError } from '../../shared/errors.ts'

/** An opaque continuation token for `key`. */
export function encodeCursor(key: readonly string[]): string {
  return Buffer.from(JSON.stringify(key)).toString('base64url')
}

/**
 * The key of a continuation token of `length` parts, or null for none.
 * @throws ServiceError `invalid_request` for one we did not make
 */
export function decodeCursor(token: string | undefined, length: number): string[] | null {
  if (token === undefined) return null
  try {
    const key: unknown = JSON.parse(Buffer.from(token, 'base64url').toString('utf8'))
    if (Array.isArray(key) && key.length === length && key.every((part) => typeof part === 'string')) return key
  } catch {
    // Told below, as what it is to the client.
  }
  const fault = { pointer: '/query/continuation_token', detail: 'is not a token of a page before' }
  throw new ServiceError('invalid_request', `${fault.pointer}: ${fault.detail}.`, { errors: [fault] })
}

/** The tags a list asks for, from `key` and `key=value`, comma separated or repeated; a value of null is any. */
export function parseTags(tag: string | string[] | undefined): [string, string | null][] {
  return [tag ?? []]
    .flat()
    .flatMap((list) => list.split(','))
    .filter((item) => item !== '')
    .map((item) => {
      const at = item.indexOf('=')
      return at < 0 ? [item, null] : [item.slice(0, at), item.slice(at + 1)]
    })
}
