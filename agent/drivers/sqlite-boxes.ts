import type { BoxQuery, BoxRecord, BoxStore } from '../ports/store.ts'
import type { Database, Row } from './sqlite-database.ts'
import { insertTombstone } from './sqlite-tombstones.ts'

/** Boxes in SQLite: the record as JSON, beside it the columns that are searched by. */
export function createBoxStore(database: Database): BoxStore {
  return {
    insert: async (record) => {
      const sql = `INSERT INTO boxes (id, project, name, version, status, record) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT (project, name) DO NOTHING`
      return database.run(sql, record.id, record.project, record.name, record.version, ...stored(record)) === 1
    },
    get: async (project, name) =>
      recordOf(database.get('SELECT record FROM boxes WHERE project = ? AND name = ?', project, name)),
    byId: async (id) => recordOf(database.get('SELECT record FROM boxes WHERE id = ?', id)),
    replace: async (record) => {
      const sql = 'UPDATE boxes SET version = ?, status = ?, record = ? WHERE id = ? AND version = ?'
      return database.run(sql, record.version, ...stored(record), record.id, record.version - 1) === 1
    },
    remove: async (id, version, tombstone) =>
      database.freeing(() =>
        database.transaction(() => {
          if (database.run('DELETE FROM boxes WHERE id = ? AND version = ?', id, version) === 0) return false
          database.run('DELETE FROM execs WHERE box_id = ?', id)
          insertTombstone(database, tombstone)
          return true
        }),
      ),
    list: async (query) => list(database, query),
    all: async () => database.all('SELECT record FROM boxes ORDER BY id').flatMap((row) => recordOf(row) ?? []),
    countByStatus: async () => {
      const counts = { pending: 0, running: 0, stopped: 0, unknown: 0 }
      for (const row of database.all('SELECT status, count(*) AS n FROM boxes GROUP BY status')) {
        counts[row.status as keyof typeof counts] = Number(row.n)
      }
      return counts
    },
  }
}

function list(database: Database, query: BoxQuery): { records: BoxRecord[]; hasMore: boolean } {
  const { projects, prefix, status, after, limit } = query
  const sorted = projects === '*' ? null : projects.toSorted()
  const from = sorted?.[0] ?? ''
  const start = after !== null && after.project >= from ? [after.project, after.name] : [from, '']
  const tags = new Set(query.tags.map((tag) => JSON.stringify(tag)))
  const rows = database.all(
    LIST,
    ...start,
    sorted === null ? LAST : (sorted.at(-1) ?? ''),
    sorted === null ? null : JSON.stringify(sorted),
    prefix,
    `${prefix}${LAST}`,
    status,
    `[${[...tags].join(',')}]`,
    tags.size,
    limit + 1,
  )
  const records = rows.slice(0, limit).flatMap((row) => recordOf(row) ?? [])
  return { records, hasMore: rows.length > limit }
}

function stored(record: BoxRecord): [status: string, json: string] {
  return [record.observed.status, JSON.stringify(record)]
}

function recordOf(row: Row | null): BoxRecord | null {
  return row ? (JSON.parse(String(row.record)) as BoxRecord) : null
}

// Above every name.
const LAST = '\u{10FFFF}'

// One text whatever is asked, so that no request makes another statement. A tag that is wanted with and without its
// value counts twice on both sides.
const LIST = `
  WITH wanted (key, value) AS MATERIALIZED (SELECT value ->> 0, value ->> 1 FROM json_each(?8))
  SELECT record FROM boxes
  WHERE (project, name) > (?1, ?2) AND project <= ?3
    AND (?4 IS NULL OR project IN (SELECT value FROM json_each(?4)))
    AND name >= ?5 AND name < ?6 AND (?7 IS NULL OR status = ?7)
    AND (?9 = 0 OR ?9 = (
      SELECT count(*) FROM json_each(record, '$.tags') AS held CROSS JOIN wanted
      ON held.key = wanted.key AND (wanted.value IS NULL OR held.value = wanted.value)
    ))
  ORDER BY project, name LIMIT ?10`
