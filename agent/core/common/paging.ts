import { invalidRequest } from '../../../shared/validate.ts'
import type { NamedQuery } from '../../ports/store/volumes.ts'
import type { Caller } from './caller.ts'

/** Returns an opaque continuation token for `key`. */
export function encodeCursor(key: readonly string[]): string {
  return Buffer.from(JSON.stringify(key)).toString('base64url')
}

/**
 * Decodes a continuation token of `length` parts; null for none.
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
  throw invalidRequest([{ pointer: '/query/continuation_token', detail: 'is not a token of a page before' }])
}

/** The query of a list that is ordered by project and name. */
export interface NamedListQuery {
  prefix?: string | undefined
  tag?: string | string[] | undefined
  continuation_token?: string | undefined
  max_results: number
}

/**
 * Returns the query for the page that `query` names; project `-` selects every project the caller may read.
 * @throws ServiceError `invalid_request`
 */
export function namedPage(caller: Caller, project: string, query: NamedListQuery): NamedQuery {
  const after = decodeCursor(query.continuation_token, 2)
  return {
    projects: project === '-' ? caller.projects : [project],
    prefix: query.prefix ?? '',
    tags: parseTags(query.tag),
    after: after ? { project: after[0] ?? '', name: after[1] ?? '' } : null,
    limit: query.max_results,
  }
}

/** Returns the continuation token for the page after `records`; null if it is the last. */
export function nextNamedPage({ records, hasMore }: { records: readonly NamedResource[]; hasMore: boolean }) {
  const last = records.at(-1)
  return hasMore && last ? encodeCursor([last.project, last.name]) : null
}

interface NamedResource {
  project: string
  name: string
}

// Parses `key` and `key=value`, comma separated or repeated; a value of null matches any.
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
