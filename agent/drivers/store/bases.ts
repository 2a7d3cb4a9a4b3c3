import type { BaseQuery, BaseRecord, BaseStore, NewBase } from '../../ports/store/bases.ts'
import type { Database, Row } from './database.ts'
import { PAGE_BYTES } from './pages.ts'
import { dropTombstones, insertTombstone } from './tombstones.ts'

/**
 * Creates the store of bases in SQLite, with records as JSON beside the columns that queries filter by. The project of shared ones is ''.
 */
export function createBaseStore(database: Database): BaseStore {
  return {
    insert: async (base) => database.transaction(() => insert(database, base)),
    get: async (project, name) => {
      const row = database.get('SELECT record FROM bases WHERE project = ? AND name = ?', project ?? '', name)
      return row ? recordOf(row) : null
    },
    list: async (query) => list(database, query),
    all: async () => database.all('SELECT record FROM bases ORDER BY project, name').map(recordOf),
    count: async (project) =>
      Number(
        database.get(`SELECT count(*) AS count FROM bases WHERE project = ? AND ${MADE_HERE}`, project ?? '')?.count ??
          0,
      ),
    nextVersion: async (project, name) => lastVersion(database, versionKey(project, name)) + 1,
    measure: async (id, sizeBytes) => {
      database.run("UPDATE bases SET record = json_set(record, '$.sizeBytes', ?) WHERE id = ?", sizeBytes, id)
    },
    remove: async (id, tombstone) =>
      database.freeing(() =>
        database.transaction(() => {
          const row = database.get('SELECT record FROM bases WHERE id = ?', id)
          if (!row) return false
          // Bases that an older version created have no number recorded yet.
          const { project, name, version } = recordOf(row)
          database.run(`${NOTE} DO NOTHING`, versionKey(project, name), String(version))
          database.run('DELETE FROM bases WHERE id = ?', id)
          insertTombstone(database, tombstone)
          return true
        }),
      ),
    usedBy: async (id, { projects, limit }) => {
      const within = projects === '*' ? null : JSON.stringify(projects)
      const rows = database.all(`SELECT project, name ${USERS} ORDER BY project, name LIMIT ?3`, id, within, limit)
      return {
        boxes: rows.map((row) => ({ project: String(row.project), name: String(row.name) })),
        count: Number(database.get(`SELECT count(*) AS count ${USERS}`, id, within)?.count ?? 0),
      }
    },
  }
}

// The number outlives the base, so that a later base of the name never reuses a version.
function insert(database: Database, base: NewBase): BaseRecord | null {
  const { id, project, name, subvolume } = base
  const key = versionKey(project, name)
  const last = lastVersion(database, key)
  const { version = 0 } = base
  const record = { ...base, version: base.cell === undefined ? Math.max(version, last + 1) : version }
  const sql = `INSERT INTO bases (id, project, name, record) VALUES (?, ?, ?, ?) ON CONFLICT (project, name) DO NOTHING`
  if (database.run(sql, id, project ?? '', name, JSON.stringify(record)) === 0) return null
  database.run(`${NOTE} DO UPDATE SET value = ?2`, key, String(Math.max(record.version, last)))
  dropTombstones(database, [subvolume])
  return record
}

function list(database: Database, query: BaseQuery): { records: BaseRecord[]; hasMore: boolean } {
  const { projects, prefix, after, limit } = query
  const wanted = projects === '*' ? null : JSON.stringify(projects ?? [''])
  const sql = `SELECT record FROM bases
    WHERE (project, name) > (?1, ?2) AND name >= ?3 AND name < ?4
      AND ${MADE_HERE} AND iif(?5 IS NULL, project <> '', project IN (SELECT value FROM json_each(?5)))
    ORDER BY project, name`
  const start = [after?.project ?? '', after?.name ?? ''] as const
  const most = { limit, bytesMax: PAGE_BYTES }
  const { rows, hasMore } = database.page(sql, most, ...start, prefix, `${prefix}\u{10FFFF}`, wanted)
  return { records: rows.map(recordOf), hasMore }
}

function lastVersion(database: Database, key: string): number {
  return Number(database.get('SELECT value FROM meta WHERE key = ?', key)?.value ?? 0)
}

function versionKey(project: string | null, name: string): string {
  return `base_version ${project ?? ''}/${name}`
}

function recordOf(row: Row): BaseRecord {
  return JSON.parse(String(row.record)) as BaseRecord
}

const USERS = `FROM boxes WHERE record ->> '$.baseId' = ?1
  AND (?2 IS NULL OR project IN (SELECT value FROM json_each(?2)))`

const MADE_HERE = "record ->> '$.cell' IS NULL"
const NOTE = 'INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key)'
