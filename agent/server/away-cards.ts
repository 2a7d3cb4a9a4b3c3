import { unverifiedClaims } from '../../shared/auth/tokens.ts'
import { ServiceError } from '../../shared/errors.ts'
import {
  bearerToken,
  type HttpRequest,
  type HttpResponse,
  jsonResponse,
  splitTarget,
} from '../../shared/http/messages.ts'
import type { Matcher } from '../../shared/match.ts'
import type { Box } from '../../shared/schemas/boxes.ts'
import { type NamedListQuery, namedPage } from '../core/common/paging.ts'
import type { Cell, Directory, KeptHome } from '../ports/fleet/directory.ts'
import type { NamedQuery } from '../ports/store/volumes.ts'
import { cellAway } from './cells/cell-links.ts'
import type { StandIn } from './entry.ts'
import { compareKeys, type KeyedItem, type PageItems } from './merge-pages.ts'
import { ENTRY_HEADER } from './passing.ts'

export interface CardsDeps {
  directory: Pick<Directory, 'cell' | 'findCell' | 'homesOf' | 'readKept'>
  match: Matcher
  /** Returns the box that a cached summary describes. Null: the record has no summary. */
  viewBox(home: KeptHome, cell: Cell | null): Box | null
}

/** Answers for boxes whose cell does not respond, from the directory's records, which it reads on demand. */
export interface Cards extends StandIn {
  /**
   * Lists an unreachable cell's items for a list request, after the key `after` if that is given.
   * @throws ServiceError `agent_unavailable` that names the cell, if its items cannot be listed
   */
  list(cell: string, listed: ListedCards, after: readonly string[] | null): PageItems
}

/** A request that lists boxes or volumes, and that this cell has validated. */
export interface ListedCards {
  headers: HttpRequest['headers']
  kind: KeptHome['kind']
  /** The project in the path. */
  project: string
  query: NamedListQuery & { status?: string | undefined }
}

export function createCards({ directory, match, viewBox }: CardsDeps): Cards {
  const boxOf = ({
    method,
    target,
    headers,
  }: Parameters<Cards['isTold']>[0]): { project: string; name: string } | null => {
    if (method !== 'GET' || headers[ENTRY_HEADER] !== undefined) return null
    const { operation, params } = match(method, splitTarget(target).pathname)
    const { project, name } = params
    return operation.id !== 'getBox' || project === undefined || name === undefined ? null : { project, name }
  }
  const isTold: Cards['isTold'] = (request) => {
    try {
      return boxOf(request) !== null
    } catch {
      // The dispatch reports a missing route.
      return false
    }
  }
  return {
    isTold,
    answer: async (request, { error, here }) => {
      const isAway = error instanceof ServiceError && error.code === 'agent_unavailable'
      const box = isAway && isTold(request) ? boxOf(request) : null
      if (box === null) return null
      // Authorizes the caller.
      const own = await here(request)
      if (own.status !== 404) return own
      const home = await directory.readKept({ kind: 'box', ...box })
      if (home === null || home.cell === directory.cell) return own
      const view = viewBox(home, directory.findCell(home.cell))
      return view && jsonResponse(200, view, requestIdOf(own))
    },
    list: (cell, listed, after) => {
      const { kind, query, status } = readListed(listed)
      const page = after === null ? query : { ...query, after: { project: after[0] ?? '', name: after[1] ?? '' } }
      return listCards(cell, { page, kind, isWanted: status === null || status === 'unknown' }, { directory, viewBox })
    },
  }
}

async function* listCards(
  cell: string,
  { page, kind, isWanted }: { page: NamedQuery; kind: KeptHome['kind']; isWanted: boolean },
  { directory, viewBox }: Pick<CardsDeps, 'directory' | 'viewBox'>,
): PageItems {
  const all = { has_more: false, next_continuation_token: null }
  if (!isWanted) return all
  const { homes, hasMore } = await readHomes(cell, { page, kind }, directory)
  const agent = directory.findCell(cell)
  for (const home of homes) {
    // The directory has no tags, and no attachments of volumes.
    const view = kind === 'volume' || page.tags.length > 0 ? null : viewBox(home, agent)
    if (view === null) throw cellAway(cell)
    yield itemOf(home, view)
  }
  return { ...all, has_more: hasMore }
}

/** Reads the first ownership records of a page, in its order. Holds few more than the page in memory, however many the cell has. */
async function readHomes(
  cell: string,
  { page, kind }: { page: NamedQuery; kind: KeptHome['kind'] },
  directory: CardsDeps['directory'],
): Promise<{ homes: KeptHome[]; hasMore: boolean }> {
  const { projects, prefix, after, limit } = page
  const isListed = (home: KeptHome): boolean =>
    (projects === '*' || projects.includes(home.project)) &&
    home.name.startsWith(prefix) &&
    (after === null || compareKeys(keyOf(home), [after.project, after.name]) > 0)
  let first: KeptHome[] = []
  const project = projects !== '*' && projects.length === 1 ? (projects[0] ?? null) : null
  try {
    for await (const homes of directory.homesOf({ cell, kind, project })) {
      first.push(...homes.filter(isListed))
      first = first.sort((one, other) => compareKeys(keyOf(one), keyOf(other))).slice(0, limit + 1)
    }
  } catch (error) {
    throw cellAway(cell, error)
  }
  return { homes: first.slice(0, limit), hasMore: first.length > limit }
}

function readListed({ headers, kind, project, query }: ListedCards) {
  const projects = unverifiedClaims(bearerToken(headers))?.projects ?? []
  return { kind, query: namedPage({ projects }, project, query), status: query.status ?? null }
}

function itemOf(home: KeptHome, view: Box): KeyedItem {
  return { key: keyOf(home), json: Buffer.from(JSON.stringify(view)) }
}

function keyOf({ project, name }: KeptHome): string[] {
  return [project, name]
}

function requestIdOf({ headers }: HttpResponse): Record<string, string> {
  const id = headers['x-request-id']
  return typeof id === 'string' ? { 'x-request-id': id } : {}
}
