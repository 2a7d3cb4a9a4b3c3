import type { EventRecord, EventScope, EventStore } from '../../ports/store/events.ts'
import type { Database } from './database.ts'
import { boundsOf, type Cut, pruneNumbered } from './numbered.ts'
import { AUDIENCES } from './outbox.ts'

/** Creates the store of events in SQLite, whose rows the outbox writes. */
export function createEventStore(database: Database, onCommit: EventStore['onCommit']): EventStore {
  return {
    bounds: async (scope = EVERYTHING) => {
      const { newest } = boundsOf(database, 'events')
      return { oldest: 1 + Number(database.get(FLOOR, audiencesOf(scope))?.number ?? 0), newest }
    },
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
    prune: (before, keep) => {
      // Comes ahead of the deletion, so that no cursor passes over what is gone.
      const onCut = ({ group, number }: Cut): void => {
        database.freeing(() => database.run(RAISE_FLOOR, group ?? '', number - 1))
      }
      return pruneNumbered(database, { table: 'events', group: 'audience' }, { before, keep, onCut })
    },
    onCommit,
  }
}

function audiencesOf({ projects, shared, admin }: EventScope): string {
  const others = [...(shared ? [AUDIENCES.shared] : []), ...(admin ? [AUDIENCES.admins] : [])]
  return JSON.stringify(projects === '*' ? { all: true, some: others } : { all: false, some: [...projects, ...others] })
}

/** Names of projects begin with a letter or a digit, unlike the other audiences. */
const IS_OF_PROJECT = "audience >= '0'"
const EVERYTHING: EventScope = { projects: '*', shared: true, admin: true }
// The floor of the audience '' is that of all.
const FLOOR = `
  SELECT max(number) AS number FROM event_floors WHERE audience = ''
    OR (?1 ->> '$.all' AND ${IS_OF_PROJECT}) OR audience IN (SELECT value FROM json_each(?1, '$.some'))`
const RAISE_FLOOR = `INSERT INTO event_floors (audience, number) VALUES (?, ?)
  ON CONFLICT (audience) DO UPDATE SET number = max(number, excluded.number)`
const READ = `
  SELECT number, record FROM events WHERE number > ?1 AND number <= ?2
    AND ((?3 ->> '$.all' AND ${IS_OF_PROJECT}) OR audience IN (SELECT value FROM json_each(?3, '$.some')))
    AND (?4 = '[]' OR EXISTS (SELECT 1 FROM json_each(?4)
      WHERE value = events.type OR (value LIKE '%.' AND substr(events.type, 1, length(value)) = value)))
  ORDER BY number LIMIT ?5`
// Rows per scan, which takes a few milliseconds.
const SCANNED = 10_000
