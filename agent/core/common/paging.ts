import type { ServiceError } from '../../../shared/errors.ts'
import { invalidRequest } from '../../../shared/validate.ts'
import type { NamedQuery } from '../../ports/store/volumes.ts'
import type { Caller } from './caller.ts'

/** Returns an opaque continuation token for `key`. */
export function encodeCursor(key: readonly string[]): string {
  return Buffer.from(JSON.stringify(key)).toString('base64url')
}

/**
 * Decodes a continuation token of `length` parts. Null for none.
 * @throws ServiceError `invalid_request` for a token that is not from `encodeCursor`
 */
export function decodeCursor(token: string | undefined, length: number): string[] | null {
  if (token === undefined) return null
  try {
    const key: unknown = JSON.parse(Buffer.from(token, 'base64url').toString('utf8'))
    if (Array.isArray(key) && key.length === length && key.every((part) => typeof part === 'string')) return key
  } catch {
    // Reported below.
  }
  throw foreignCursor()
}

/** Returns a continuation token for a path, which may be long and need not be UTF-8, and a word that goes with it. */
export function encodePathCursor(path: Uint8Array, word = ''): string {
  return Buffer.concat([Buffer.from(`${word}\0`), path]).toString('base64url')
}

/**
 * Decodes a continuation token of a path. Null for none.
 * @throws ServiceError `invalid_request` for a token that is not from `encodePathCursor`
 */
export function decodePathCursor(token: string | undefined): { path: Buffer; word: string } | null {
  if (token === undefined) return null
  const bytes = Buffer.from(token, 'base64url')
  const at = bytes.indexOf(0)
  if (at < 0 || bytes.toString('base64url') !== token) throw foreignCursor()
  return { path: bytes.subarray(at + 1), word: bytes.toString('utf8', 0, at) }
}

/** The refusal of a continuation token that no page gave. */
export function foreignCursor(): ServiceError {
  return invalidRequest([
    { pointer: '/query/continuation_token', detail: 'must be the next_continuation_token of a previous page' },
  ])
}

/** The query of a list that is ordered by project and name. */
export interface NamedListQuery {
  prefix?: string | undefined
  tag?: string | string[] | undefined
  continuation_token?: string | undefined
  max_results: number
}

/**
 * Returns the query for the page that `query` names. Project `-` selects every project the caller may read.
 * @throws ServiceError `invalid_request`
 */
export function namedPage(caller: Pick<Caller, 'projects'>, project: string, query: NamedListQuery): NamedQuery {
  const after = decodeCursor(query.continuation_token, 2)
  return {
    projects: project === '-' ? caller.projects : [project],
    prefix: query.prefix ?? '',
    tags: parseTags(query.tag),
    after: after ? { project: after[0] ?? '', name: after[1] ?? '' } : null,
    limit: query.max_results,
  }
}

/** Returns the continuation token for the page after `records`. Null if it is the last. */
export function nextNamedPage({ records, hasMore }: { records: readonly NamedResource[]; hasMore: boolean }) {
  const last = records.at(-1)
  return hasMore && last ? encodeCursor([last.project, last.name]) : null
}

interface NamedResource {
  project: string
  name: string
}

// Parses `key` and `key=value`, comma separated or repeated. A value of null matches any.
function parseTags(tag: string | string[] | undefined): [string, string | null][] {
  return [tag ?? []]
    .flat()
    .flatMap((list) => list.split(','))
    .filter((item) => item !== '')
    .map((item) => {
      const at = item.indexOf('=')
      return at < 0 ? [item, null] : [item.slice(0, at), item.slice(at + 1)]
    })
}
