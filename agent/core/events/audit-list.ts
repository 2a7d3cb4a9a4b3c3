import type { AuditListQuery } from '../../../shared/schemas/events.ts'
import type { AuditPage, AuditRecord } from '../../ports/store/events.ts'
import { rateAccountOf } from '../common/accounts.ts'
import type { Caller } from '../common/caller.ts'
import { decodeCursor, encodeCursor, foreignCursor } from '../common/paging.ts'
import { type Histories, unlessAway } from './all-cells.ts'
import { mergeParts, shareOf } from './merge.ts'

/** A page of the audit log of all cells. */
export interface AuditAnswer {
  records: AuditRecord[]
  /** Continuation token. Null on the last page. */
  next: string | null
  /** Cells that were unreachable at the first page or at this one. Their records are missing. Empty without a fleet. */
  missing: readonly string[]
}

/** The audit log of this deployment, of all its cells. */
export interface AuditLog {
  /**
   * Lists records newest first, of the projects that the caller is an admin of.
   * @throws ServiceError `invalid_request` for a token of no page
   */
  list(caller: Caller, query: AuditListQuery): Promise<AuditAnswer>
}

/** The next page begins before this number of each cell. 0 if nothing is left, null if the cell is left out. */
export type AuditPosition = ReadonlyMap<string, number | null>

/** The form of the continuation tokens. */
export interface AuditCursors {
  encode(position: AuditPosition): string
  /** @throws ServiceError `invalid_request` for a token of no page */
  decode(token: string): AuditPosition
}

/** Creates a log that merges the logs of all cells by time. */
export function createAuditLog(deps: Histories & { cursors: AuditCursors }): AuditLog {
  const { own, others, cursors } = deps
  return {
    list: async (caller, query) => {
      const { project = null, actor = null, operation = null, status = null, max_results: limit } = query
      const account = rateAccountOf(caller, project)
      const filter = { projects: caller.projects, project, actor, operation, status, account }
      const token = query.continuation_token
      const position = token === undefined ? null : cursors.decode(token)
      // Cells that joined later have no record that belongs after the first page.
      const cells = [own, ...others.cells()].filter(({ cell }) => position?.has(cell) ?? true)
      const share = shareOf(limit, cells.length)
      const pages = await Promise.all(
        cells.map(async (history) => {
          const before = position === null ? null : (position.get(history.cell) ?? null)
          const isLeftOut = position !== null && before === null
          const read = (): Promise<AuditPage | null> =>
            unlessAway(history.readAudit({ ...filter, before, limit: share }))
          return { cell: history.cell, page: isLeftOut ? null : before === 0 ? NO_MORE : await read() }
        }),
      )
      return mergePages(pages, { position, limit, cursors })
    },
  }
}

function mergePages(
  pages: readonly { cell: string; page: AuditPage | null }[],
  context: { position: AuditPosition | null; limit: number; cursors: AuditCursors },
): AuditAnswer {
  const { position, limit, cursors } = context
  const parts = pages.flatMap(({ cell, page }) => {
    if (page === null) return []
    const items = page.records.map(({ number, record }) => ({ number, at: record.at, value: record }))
    return [{ cell, items, hasMore: page.next !== null, next: page.next }]
  })
  const { items, cut } = mergeParts(parts, { limit, order: -1 })
  const left = new Map<string, number | null>(position)
  for (const { cell, page } of pages) if (page === null) left.set(cell, null)
  for (const { cell, items: told, next } of parts) {
    const first = told[0]
    // Reads records again that were cut off a page.
    left.set(cell, cut.has(cell) && first !== undefined ? first.number + 1 : (next ?? 0))
  }
  for (const { cell, number } of items) if (cut.has(cell)) left.set(cell, number)
  const hasMore = cut.size > 0 || parts.some((part) => part.hasMore)
  const known = new Set(pages.map(({ cell }) => cell))
  const missing = [...left].filter(([cell, before]) => before === null || !known.has(cell)).map(([cell]) => cell)
  return {
    records: items.map(({ value }) => value),
    next: hasMore ? cursors.encode(left) : null,
    missing: missing.sort(),
  }
}

/** Creates tokens of a host without a fleet, each with a number of its only cell. */
export function createSingleAuditCursors(cell: string): AuditCursors {
  return {
    encode: (position) => encodeCursor([String(position.get(cell))]),
    decode: (token) => {
      const before = Number(decodeCursor(token, 1)?.[0])
      if (!Number.isSafeInteger(before)) throw foreignCursor()
      return new Map([[cell, before]])
    },
  }
}

/** Creates tokens of a fleet, each with a number of every cell. */
export function createVectorAuditCursors(): AuditCursors {
  return {
    encode: (position) => encodeCursor([[...position].map(([cell, before]) => `${cell}.${before ?? '-'}`).join(',')]),
    decode: (token) => {
      const [text = ''] = decodeCursor(token, 1) ?? []
      if (!VECTOR.test(text)) throw foreignCursor()
      return new Map(
        text.split(',').map((part): [string, number | null] => {
          const [cell = '', before = ''] = part.split('.')
          return [cell, before === '-' ? null : Number(before)]
        }),
      )
    },
  }
}

const NO_MORE: AuditPage = { records: [], next: null }
const VECTOR = /^[0-9a-z]{2,4}\.(\d{1,15}|-)(,[0-9a-z]{2,4}\.(\d{1,15}|-))*$/
