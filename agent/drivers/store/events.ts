import type { EventRecord, EventScope, EventStore } from '../../ports/store/events.ts'
import type { Database } from './database.ts'
import { boundsOf, pruneNumbered } from './numbered.ts'
import { AUDIENCES } from './outbox.ts'

/** Creates the store of events in SQLite, whose rows the outbox writes. */
export function createEventStore(database: Database, onCommit: EventStore['onCommit']): EventStore {
  return {
    bounds: async () => boundsOf(database, 'events'),
    read: async (query) => {
      const { types, after, limit } = query
      const { newest } = boundsOf(database, 'events')
      const end = Math.min(newest, after + SCANNED)
      const rows = database.all(READ, after, end, audiencesOf(query.scope), JSON.stringify(types), limit)
      const events = rows.map((row) => ({
        number: Number(row.number),
        record: JSON.parse(String(row.record)) as EventRecord,
      }))
      const through = (events.length < limit ? end : events.at(-1)?.number) ?? end
      return { events, through, hasMore: through < newest }
    },
    prune: (before, keep) => pruneNumbered(database, 'events', { before, keep }),
    onCommit,
  }
}

function audiencesOf({ projects, shared, admin }: EventScope): string {
  const others = [...(shared ? [AUDIENCES.shared] : []), ...(admin ? [AUDIENCES.admins] : [])]
  return JSON.stringify(projects === '*' ? { all: true, some: others } : { all: false, some: [...projects, ...others] })
}

/** Names of projects begin with a letter or a digit, unlike the other audiences. */
const IS_OF_PROJECT = "audience >= '0'"
const READ = `
  SELECT number, record FROM events WHERE number > ?1 AND number <= ?2
    AND ((?3 ->> '$.all' AND ${IS_OF_PROJECT}) OR audience IN (SELECT value FROM json_each(?3, '$.some')))
    AND (?4 = '[]' OR EXISTS (SELECT 1 FROM json_each(?4)
      WHERE value = events.type OR (value LIKE '%.' AND substr(events.type, 1, length(value)) = value)))
  ORDER BY number LIMIT ?5`
// Rows per scan, which takes a few milliseconds.
const SCANNED = 10_000
