import type { EventQuery, EventRecord, EventScope, EventStore } from '../../ports/store/events.ts'
import type { Database, Row } from './database.ts'
import { boundsOf, type Cut, pruneNumbered } from './numbered.ts'
import { AUDIENCES } from './outbox.ts'
import { PAGE_BYTES } from './pages.ts'

/** Creates the store of events in SQLite. The outbox writes its rows, and `onWritten` reports their audiences. */
export function createEventStore(
  database: Database,
  onWritten: (listener: (audiences: ReadonlySet<string>) => void) => () => void,
): EventStore {
  return {
    bounds: async (scope) => {
      const { newest } = boundsOf(database, 'events')
      const floor = scope === undefined ? database.get(FLOOR_OF_ALL) : floorOf(database, scope)
      return { oldest: 1 + Number(floor?.number ?? 0), newest }
    },
    lastBefore: async (at) => lastBefore(database, at),
    selects: ({ scope, types }, { audience, type }) => isIn(scope, audience) && isOfTypes(types, type),
    read: async (query) => {
      const { newest } = boundsOf(database, 'events')
      if (query.after >= newest) return { events: [], through: query.after, hasMore: false }
      const { rows, through: examined } = examine(database, query, newest)
      const numbers = rows.flatMap(({ number, type }) => (isOfTypes(query.types, String(type)) ? [Number(number)] : []))
      const most = { limit: query.limit, bytesMax: PAGE_BYTES }
      const { rows: page, hasMore: isCut } = database.page(RECORDS, most, JSON.stringify(numbers))
      const events = page.map((row) => ({
        number: Number(row.number),
        audience: String(row.audience),
        record: JSON.parse(String(row.record)) as EventRecord,
      }))
      const through = (isCut ? events.at(-1)?.number : examined) ?? newest
      return { events, through, hasMore: through < newest }
    },
    prune: (before, keep) => {
      // Comes before the deletion, so that no cursor skips deleted events.
      const onCut = ({ group, number }: Cut): void => {
        database.freeing(() => database.run(RAISE_FLOOR, group ?? '', number - 1))
      }
      return pruneNumbered(database, { table: 'events', group: 'audience' }, { before, keep, onCut })
    },
    onCommit: (listener) =>
      onWritten((audiences) => listener((scope) => [...audiences].some((audience) => isIn(scope, audience)))),
  }
}

// Halves the remaining range, since times grow with the numbers. They have no index.
function lastBefore(database: Database, at: number): number {
  let { oldest, newest } = boundsOf(database, 'events')
  while (oldest <= newest) {
    const middle = Math.floor((oldest + newest) / 2)
    const row = database.get(NEXT_TIME, middle, newest)
    if (row === null || Number(row.at) >= at) newest = middle - 1
    else oldest = Number(row.number) + 1
  }
  return newest
}

/** Rows of a scope in order, and the number up to which there are no others. Null if there are no more. */
interface Examined {
  rows: Row[]
  through: number | null
}

// Reads the next rows of the scope, for each audience by the index. Reads about EXAMINED rows at most, however many rows others have.
function examine(database: Database, { scope, after }: EventQuery, newest: number): Examined {
  if (scope.projects === '*') {
    const rows = database.all(NEXT_OF_ALL, after, newest, EXAMINED)
    const through = rows.length < EXAMINED ? null : Number(rows.at(-1)?.number)
    return { rows: rows.filter(({ audience }) => isIn(scope, String(audience))), through }
  }
  const audiences = audiencesOf(scope)
  const each = Math.ceil(EXAMINED / Math.max(1, audiences.length))
  const parts = audiences.map((audience) => database.all(NEXT_OF_AUDIENCE, audience, after, newest, each))
  const ends = parts.flatMap((rows) => (rows.length < each ? [] : [Number(rows.at(-1)?.number)]))
  const through = ends.length === 0 ? null : Math.min(...ends)
  const rows = parts.flat().filter(({ number }) => through === null || Number(number) <= through)
  return { rows: parts.length === 1 ? rows : rows.sort((a, b) => Number(a.number) - Number(b.number)), through }
}

/** Tests a type against types, and against prefixes that end in a dot. Without any it always matches. */
function isOfTypes(types: readonly string[], type: string): boolean {
  return types.length === 0 || types.includes(type) || types.includes(type.slice(0, type.indexOf('.') + 1))
}

function isIn(scope: EventScope, audience: string): boolean {
  if (audience === AUDIENCES.shared) return scope.shared
  if (audience === AUDIENCES.admins) return scope.admin
  return scope.projects === '*' || scope.projects.includes(audience)
}

function audiencesOf({ projects, shared, admin }: EventScope): string[] {
  const others = [...(shared ? [AUDIENCES.shared] : []), ...(admin ? [AUDIENCES.admins] : [])]
  return [...new Set(projects), ...others]
}

function floorOf(database: Database, scope: EventScope): Row | null {
  if (scope.projects !== '*') return database.get(FLOOR, JSON.stringify(['', ...audiencesOf(scope)]))
  const hidden = [AUDIENCES.shared, AUDIENCES.admins].filter((audience) => !isIn(scope, audience))
  return database.get(FLOOR_BUT, JSON.stringify(hidden))
}

// The floor of the audience '' applies to all.
const FLOOR = 'SELECT max(number) AS number FROM event_floors WHERE audience IN (SELECT value FROM json_each(?))'
const FLOOR_BUT =
  'SELECT max(number) AS number FROM event_floors WHERE audience NOT IN (SELECT value FROM json_each(?))'
const FLOOR_OF_ALL = 'SELECT max(number) AS number FROM event_floors'
const RAISE_FLOOR = `INSERT INTO event_floors (audience, number) VALUES (?, ?)
  ON CONFLICT (audience) DO UPDATE SET number = max(number, excluded.number)`
const NEXT_TIME = 'SELECT number, at FROM events WHERE number >= ? AND number <= ? ORDER BY number LIMIT 1'
const NEXT_OF_AUDIENCE =
  'SELECT number, type FROM events WHERE audience = ? AND number > ? AND number <= ? ORDER BY number LIMIT ?'
const NEXT_OF_ALL = 'SELECT number, type, audience FROM events WHERE number > ? AND number <= ? ORDER BY number LIMIT ?'
const RECORDS = `SELECT number, audience, record FROM events WHERE number IN (SELECT value FROM json_each(?)) ORDER BY number`
// Rows per read, which takes about a millisecond.
const EXAMINED = 500
