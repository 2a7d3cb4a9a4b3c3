import { ServiceError } from '../../shared/errors.ts'
import { type HttpRequest, type HttpResponse, parseQuery, splitTarget } from '../../shared/http/messages.ts'
import type { Match } from '../../shared/match.ts'
import { validateRequest } from '../../shared/validate.ts'
import type { Directory } from '../ports/fleet/directory.ts'
import { STRANGERS } from './audit.ts'
import type { Cards, ListedCards } from './away-cards.ts'
import type { CellReply } from './cells/cell-asks.ts'
import { cellAway } from './cells/cell-links.ts'
import type { ItemJoin } from './merge-answers.ts'
import { compareKeys, mergePages, type PageItems } from './merge-pages.ts'
import { type PageEnd, splitPage } from './page-items.ts'
import { wholePassedResponse } from './passing.ts'
import type { ProcessorTurns } from './processor-turns.ts'

/** The answer of another cell, or an error that names it. */
export type OtherReply = { cell: string; reply: CellReply } | { cell: string; error: ServiceError }

/** A list, with a page from each cell after the same key. */
export interface GatheredPages {
  own: HttpResponse
  others: readonly OtherReply[]
  request: HttpRequest
  match: Match
  /** Name of the array. */
  field: string
  /** Names of the fields that the list is ordered by. The cursor is made of them. */
  key: readonly string[]
  /** Absent: of several items with one key, shows the item of the cell that owns it. */
  join?: ItemJoin
}

export interface PagesDeps {
  directory: Pick<Directory, 'cell' | 'find'>
  cards: Pick<Cards, 'list'>
  turns: ProcessorTurns
}

/**
 * Merges the pages of all cells. If another cell refuses, that refusal is the answer. Boxes of a cell that does not answer, or stops in
 * the middle, come from their cached summaries.
 * @throws ServiceError `agent_unavailable` that names the cell, if its items have no summaries
 */
export async function answerPage(given: GatheredPages, deps: PagesDeps): Promise<HttpResponse> {
  const { own, others, match, field } = given
  const refused = others.find((other) => 'reply' in other && other.reply.status !== match.operation.status)
  if (refused !== undefined && 'reply' in refused) return wholePassedResponse(refused.reply, refused.cell)
  const query = readQuery(given)
  const cells = [deps.directory.cell, ...others.map(({ cell }) => cell)]
  const pages = [keyedItems(piecesOf(own), given), ...others.map((other) => pageOf(other, { ...given, query }, deps))]
  const account = own.account ?? STRANGERS
  const { items, next } = await mergePages(pages, {
    limit: query.max_results,
    choose: (key, found) => {
      const [project = '', name = ''] = key
      const home = NAMED[field]
      const owner = home === undefined ? null : deps.directory.find({ kind: home, project, name })
      return found.find((index) => cells[index] === owner?.cell) ?? (found[0] as number)
    },
    ...(given.join === undefined ? {} : { join: given.join }),
    turn: () => deps.turns.run(account, async () => undefined),
  })
  return { ...own, body: encodePage(items, field, { has_more: next !== null, next_continuation_token: next }) }
}

function pageOf(other: OtherReply, given: GatheredPages & { query: ListQuery }, { cards }: PagesDeps): PageItems {
  const { request, match, field, query } = given
  const told = (after: readonly string[] | null, error: unknown): PageItems => {
    const kind = NAMED[field]
    if (kind === undefined) throw error
    return cards.list(
      other.cell,
      { headers: request.headers, kind, project: match.params['project'] ?? '', query },
      after,
    )
  }
  if ('error' in other) return told(null, other.error)
  return orCards(other.cell, keyedItems(other.reply.body, given), told)
}

/** Reads the query of a request, which this cell has validated. */
function readQuery({ request: { target }, match: { operation, params } }: GatheredPages): ListQuery {
  const query = parseQuery(splitTarget(target).search)
  return validateRequest(operation, { params, query, body: undefined }).query as unknown as ListQuery
}

type ListQuery = ListedCards['query']

/**
 * Yields the items of a cell. If they fail, are malformed or come out of order, continues with what `told` has after the last of them. So
 * a failing cell does not take the lists of the others with it.
 */
async function* orCards(
  cell: string,
  items: PageItems,
  told: (after: readonly string[] | null, error: unknown) => PageItems,
): PageItems {
  let last: readonly string[] | null = null
  try {
    for (;;) {
      const next = await items.next()
      if (next.done === true) return next.value
      if (last !== null && compareKeys(next.value.key, last) <= 0) throw new Error('its items come out of order')
      last = next.value.key
      yield next.value
    }
  } catch (error) {
    if (error instanceof ServiceError && error.code !== 'agent_unavailable') throw error
    return yield* told(last, error instanceof ServiceError ? error : cellAway(cell, error))
  } finally {
    await items.return(NONE)
  }
}

async function* keyedItems(
  pieces: AsyncIterable<Uint8Array>,
  { field, key }: Pick<GatheredPages, 'field' | 'key'>,
): PageItems {
  const items = splitPage(pieces, field)
  try {
    for (;;) {
      const next = await items.next()
      if (next.done === true) return next.value
      yield { key: keyOfItem(next.value, key), json: next.value }
    }
  } finally {
    await items.return(NONE)
  }
}

/** Reads the key of an item. Most items begin with it, so that the rest need not be parsed. */
function keyOfItem(json: Buffer, key: readonly string[]): string[] {
  const head = NAMED_HEAD.exec(json.toString('latin1', 0, HEAD_BYTES))?.groups
  const fields: unknown =
    head !== undefined && key.every((name) => name in head) ? head : JSON.parse(json.toString('utf8'))
  return key.map((name) => textOf((fields as Record<string, unknown>)[name]))
}

function textOf(part: unknown): string {
  // A base that all projects share has none.
  return typeof part === 'string' ? part : ''
}

async function* piecesOf({ body }: HttpResponse): AsyncGenerator<Uint8Array> {
  if (typeof body === 'string') yield Buffer.from(body)
  else if (body instanceof Uint8Array) yield body
  else if (body !== null) yield* body
}

function encodePage(items: readonly Buffer[], field: string, end: PageEnd): Buffer {
  const parts: Buffer[] = [Buffer.from(`{"${field}":[`)]
  for (const [index, item] of items.entries()) {
    if (index > 0) parts.push(COMMA)
    parts.push(item)
  }
  parts.push(Buffer.from(`],${JSON.stringify(end).slice(1)}`))
  return Buffer.concat(parts)
}

const NAMED: Readonly<Record<string, 'box' | 'volume'>> = { boxes: 'box', volumes: 'volume' }
/** Beginning of a box, volume or base, as all cells write it. */
const NAMED_HEAD = /^\{"id":"(?<id>[^"\\]*)","name":"(?<name>[^"\\]*)","project":(?:"(?<project>[^"\\]*)"|null)/
/** More than such a beginning has. */
const HEAD_BYTES = 256
const COMMA = Buffer.from(',')
const NONE: PageEnd = { has_more: false, next_continuation_token: null }
