import type { CellHistory } from '../../ports/store/cell-history.ts'
import type { EventStore } from '../../ports/store/events.ts'
import type { MetaStore } from '../../ports/store/store.ts'
import type { AuditTrail } from './audit-trail.ts'
import { createEventScans } from './scans.ts'

export interface OwnHistoryDeps {
  /** Number of this cell. */
  cell: string
  store: { events: EventStore }
  trail: Pick<AuditTrail, 'readOwn'>
  /** Newest event from before this cell joined a fleet. 0 if it never ran without one, or has not joined one. */
  aloneThrough: number
}

/** Creates the history of this cell. Reads of all callers share a fair queue by account. */
export function createOwnHistory({ cell, store: { events }, trail, aloneThrough }: OwnHistoryDeps): CellHistory {
  const scans = createEventScans(events)
  return {
    cell,
    bounds: async ({ scope, since }) => {
      const { oldest, newest } = await events.bounds(scope)
      const begin = since === null ? oldest - 1 : Math.max(oldest - 1, await events.lastBefore(since))
      return { oldest, newest, begin, aloneThrough }
    },
    readEvents: (scan) => scans.read(scan),
    readAudit: (query) => trail.readOwn(query),
  }
}

/** Returns the number of the newest event from before this data directory joined a fleet. The first call records it. */
export async function noteJoining(store: {
  events: Pick<EventStore, 'bounds'>
  meta: Pick<MetaStore, 'get' | 'set'>
}): Promise<number> {
  const noted = await store.meta.get(JOINED)
  if (noted !== null) return Number(noted)
  const { newest } = await store.events.bounds()
  await store.meta.set(JOINED, String(newest))
  return newest
}

const JOINED = 'events.alone_through'
