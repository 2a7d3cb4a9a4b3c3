import type { CellHistory } from '../../../agent/ports/store/cell-history.ts'
import type { AuditRecord, EventRecord } from '../../../agent/ports/store/events.ts'
import { ServiceError } from '../../../shared/errors.ts'

/** A cell in memory. It can have short pages, and can be out of reach. */
export interface ModelCell extends CellHistory {
  isAway: boolean
  /** Largest number of items on a page, whatever limit a request has. */
  pageMax: number
  aloneThrough: number
  /** Appends an event and an audit record with the time `at`. */
  write(at: number): void
  /** Drops all items up to and including a number. */
  prune(through: number): void
  newest(): number
}

/** Creates a cell. It names items `cell number`, in an event's `resource` and an audit record's `requestId`. */
export function createModelCell(cell: string): ModelCell {
  const times: number[] = []
  let pruned = 0
  const check = (): void => {
    if (made.isAway) throw new ServiceError('agent_unavailable', 'It is away.')
  }
  const made: ModelCell = {
    ...{ cell, isAway: false, pageMax: 1_000, aloneThrough: 0 },
    write: (at) => void times.push(at),
    prune: (through) => {
      pruned = through
    },
    newest: () => times.length,
    bounds: async ({ since }) => {
      check()
      const first = since === null ? -1 : times.findIndex((at) => at >= since)
      const begin = since === null ? pruned : Math.max(pruned, first < 0 ? times.length : first)
      return { oldest: pruned + 1, newest: times.length, begin, aloneThrough: made.aloneThrough }
    },
    readEvents: async ({ after, limit }) => {
      check()
      if (after < pruned || after > times.length) throw new ServiceError('cursor_expired', 'They are gone.')
      const end = Math.min(times.length, after + Math.min(limit, made.pageMax))
      const events = times.slice(after, end).map((at, i) => {
        const record = { at, resource: `${cell} ${after + 1 + i}` } as EventRecord
        return { number: after + 1 + i, audience: 'demo', record }
      })
      return { events, through: end, hasMore: end < times.length }
    },
    readAudit: async ({ before, limit }) => {
      check()
      const end = (before ?? times.length + 1) - 1
      const begin = Math.max(pruned, end - Math.min(limit, made.pageMax))
      const records = times.slice(begin, end).map((at, i) => ({
        number: begin + 1 + i,
        record: { at, requestId: `${cell} ${begin + 1 + i}` } as AuditRecord,
      }))
      return { records: records.reverse(), next: begin > pruned ? begin + 1 : null }
    },
  }
  return made
}
