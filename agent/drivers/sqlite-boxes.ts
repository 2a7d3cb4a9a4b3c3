import type { BoxRecord, BoxStore, MountConflict, MountRecord } from '../ports/store.ts'
import type { Database, Row } from './sqlite-database.ts'
import { isOneWriterConflict } from './sqlite-errors.ts'
import { listPage } from './sqlite-lists.ts'
import { insertTombstone } from './sqlite-tombstones.ts'
import { touchVolumes } from './sqlite-volumes.ts'

/** Boxes in SQLite: the record as JSON, beside it the columns that are searched by, and a row for each data volume. */
export function createBoxStore(database: Database): BoxStore {
  return {
    insert: async (record) =>
      withMounts(database, record, () => {
        const sql = `INSERT INTO boxes (id, project, name, version, status, record) VALUES (?, ?, ?, ?, ?, ?)
          ON CONFLICT (project, name) DO NOTHING`
        const { id, project, name, version } = record
        if (database.run(sql, id, project, name, version, ...stored(record)) === 0) return 'name_taken'
        database.run('DELETE FROM tombstones WHERE id = ?', id)
        return 'stored'
      }),
    get: async (project, name) =>
      recordOf(database.get('SELECT record FROM boxes WHERE project = ? AND name = ?', project, name)),
    byId: async (id) => recordOf(database.get('SELECT record FROM boxes WHERE id = ?', id)),
    replace: async (record) => replace(database, record),
    replaceMounts: async (record) =>
      withMounts(database, record, () => (replace(database, record) ? 'stored' : 'changed')),
    remove: async (id, version, tombstone) =>
      database.freeing(() =>
        database.transaction(() => {
          if (database.run('DELETE FROM boxes WHERE id = ? AND version = ?', id, version) === 0) return false
          database.run('DELETE FROM execs WHERE box_id = ?', id)
          touchVolumes(database, storedVolumes(database, id), tombstone.createdAt)
          database.run('DELETE FROM attachments WHERE box_id = ?', id)
          insertTombstone(database, tombstone)
          return true
        }),
      ),
    list: async (query) => {
      const { rows, hasMore } = listPage(database, 'boxes', query)
      return { records: rows.flatMap((row) => recordOf(row) ?? []), hasMore }
    },
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

/** Compare-and-set of a record that keeps the mounts it has. */
function replace(database: Database, record: BoxRecord): boolean {
  const sql = 'UPDATE boxes SET version = ?, status = ?, record = ? WHERE id = ? AND version = ?'
  return database.run(sql, record.version, ...stored(record), record.id, record.version - 1) === 1
}

/** Writes a record by `write`, and what it says of mounts, all or nothing. */
function withMounts<T extends string>(
  database: Database,
  record: BoxRecord,
  write: () => T | 'stored',
): T | 'stored' | MountConflict {
  try {
    return database.transaction(() => {
      const outcome = write()
      if (outcome === 'stored') storeMounts(database, record)
      return outcome
    })
  } catch (error) {
    if (error instanceof VolumeGone) return 'volume_gone'
    if (isOneWriterConflict(error)) return 'volume_in_use'
    throw error
  }
}

function storeMounts(database: Database, { id, mounts, updatedAt }: BoxRecord): void {
  const before = storedVolumes(database, id)
  const wanted = new Map(mounts.map((mount) => [mount.volumeId, mount]))
  const gone = before.filter((volumeId) => !wanted.has(volumeId))
  const added = mounts.filter(({ volumeId }) => !before.includes(volumeId))
  for (const volumeId of gone) {
    database.run('DELETE FROM attachments WHERE box_id = ? AND volume_id = ?', id, volumeId)
  }
  for (const mount of added) insertAttachment(database, id, mount)
  touchVolumes(database, [...gone, ...added.map(({ volumeId }) => volumeId)], updatedAt)
}

function insertAttachment(database: Database, boxId: string, { volumeId, path, readOnly }: MountRecord): void {
  const sql = `INSERT INTO attachments (box_id, volume_id, path, read_only) SELECT ?, id, ?, ? FROM volumes WHERE id = ?`
  if (database.run(sql, boxId, path, readOnly ? 1 : 0, volumeId) === 0) throw new VolumeGone()
}

function storedVolumes(database: Database, boxId: string): string[] {
  const rows = database.all('SELECT volume_id FROM attachments WHERE box_id = ?', boxId)
  return rows.map((row) => String(row.volume_id))
}

function stored(record: BoxRecord): [status: string, json: string] {
  return [record.observed.status, JSON.stringify(record)]
}

function recordOf(row: Row | null): BoxRecord | null {
  return row ? (JSON.parse(String(row.record)) as BoxRecord) : null
}

/** Rolls a transaction back. */
class VolumeGone extends Error {}
