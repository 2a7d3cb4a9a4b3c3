import type { EventRecord, EventScope, EventStore } from '../ports/events.ts'
import type { Database } from './sqlite-database.ts'
import { AUDIENCES } from './sqlite-journal.ts'

/** Events in SQLite, as the journal of the database writes them. */
export function createEventStore(database: Database, onCommit: EventStore['onCommit']): EventStore {
  const bounds = (): { oldest: number; newest: number } => {
    const newest = Number(database.get("SELECT seq FROM sqlite_sequence WHERE name = 'events'")?.seq ?? 0)
    const oldest = database.get('SELECT min(number) AS number FROM events')?.number ?? null
    return { oldest: oldest === null ? newest + 1 : Number(oldest), newest }
  }
  return {
    bounds: async () => bounds(),
    read: async (query) => {
      const { types, after, limit } = query
      const { newest } = bounds()
      const end = Math.min(newest, after + SCANNED)
      const rows = database.all(READ, after, end, audiencesOf(query.scope), JSON.stringify(types), limit)
      const events = rows.map((row) => ({
        number: Number(row.number),
        record: JSON.parse(String(row.record)) as EventRecord,
      }))
      const through = (events.length < limit ? end : events.at(-1)?.number) ?? end
      return { events, through, hasMore: through < newest }
    },
    prune: async (before, keep) => {
      const { newest } = bounds()
      const kept = database.get('SELECT number FROM events WHERE at >= ? ORDER BY number LIMIT 1', before)?.number
      const oldest = Math.max(Number(kept ?? newest + 1), newest - keep + 1)
      // A piece at a time: nothing else is answered meanwhile.
      for (;;) {
        if (database.freeing(() => database.run(PRUNE, oldest, PRUNED_AT_ONCE)) === 0) return
        await new Promise((resolve) => setImmediate(resolve))
      }
    },
    onCommit,
  }
}

function audiencesOf({ projects, shared, admin }: EventScope): string {
  const others = [...(shared ? [AUDIENCES.shared] : []), ...(admin ? [AUDIENCES.admins] : [])]
  return JSON.stringify(projects === '*' ? { all: true, some: others } : { all: false, some: [...projects, ...others] })
}

/** A name of a project, and nothing else, begins with a letter or a digit. */
const IS_OF_PROJECT = "audience >= '0'"
const READ = `
  SELECT number, record FROM events WHERE number > ?1 AND number <= ?2
    AND ((?3 ->> '$.all' AND ${IS_OF_PROJECT}) OR audience IN (SELECT value FROM json_each(?3, '$.some')))
    AND (?4 = '[]' OR EXISTS (SELECT 1 FROM json_each(?4)
      WHERE value = events.type OR (value LIKE '%.' AND substr(events.type, 1, length(value)) = value)))
  ORDER BY number LIMIT ?5`
const PRUNE = `DELETE FROM events WHERE number IN (
  SELECT number FROM events WHERE number < ?1 ORDER BY number LIMIT ?2)`
// As many as are looked at in a few milliseconds.
const SCANNED = 10_000
const PRUNED_AT_ONCE = 5_000
