import type { Attachment, NamedQuery, VolumeRecord, VolumeStore } from '../../ports/store/volumes.ts'
import { releaseBackups } from './backups.ts'
import type { Database, Row } from './database.ts'
import { listPage } from './lists.ts'
import { removeSnapshots } from './snapshots.ts'
import { insertTombstone } from './tombstones.ts'

/** Creates the store of data volumes in SQLite: records as JSON, beside the columns that queries filter by. */
export function createVolumeStore(database: Database): VolumeStore {
  return {
    insert: async (record) =>
      database.transaction(() => {
        const sql = `INSERT INTO volumes (id, project, name, version, record) VALUES (?, ?, ?, ?, ?)
          ON CONFLICT (project, name) DO NOTHING`
        const { id, project, name, version } = record
        if (database.run(sql, id, project, name, version, JSON.stringify(record)) === 0) return false
        database.run('DELETE FROM tombstones WHERE id = ?', id)
        return true
      }),
    get: async (project, name) => {
      const row = database.get('SELECT record FROM volumes WHERE project = ? AND name = ?', project, name)
      return row ? recordOf(row) : null
    },
    replace: async (record) => {
      const sql = 'UPDATE volumes SET version = ?, record = ? WHERE id = ? AND version = ?'
      return database.run(sql, record.version, JSON.stringify(record), record.id, record.version - 1) === 1
    },
    remove: async (id, version, tombstone) =>
      database.freeing(() =>
        database.transaction(() => {
          if (database.get('SELECT 1 FROM attachments WHERE volume_id = ? LIMIT 1', id)) return 'attached'
          if (database.run('DELETE FROM volumes WHERE id = ? AND version = ?', id, version) === 0) return 'changed'
          insertTombstone(database, tombstone)
          const { createdAt } = tombstone
          return [tombstone, ...removeSnapshots(database, id, createdAt), ...releaseBackups(database, id, createdAt)]
        }),
      ),
    list: async (query) => list(database, query),
    all: async () => database.all('SELECT record FROM volumes ORDER BY id').map(recordOf),
    attachments: async (volumeIds) => {
      const rows = database.all(ATTACHMENTS, JSON.stringify(volumeIds))
      return rows.map(attachmentOf)
    },
  }
}

/** Raises the versions of volumes that a box got or lost, inside the open transaction. */
export function touchVolumes(database: Database, volumeIds: readonly string[], now: number): void {
  const sql = `UPDATE volumes SET version = version + 1,
      record = json_set(record, '$.version', version + 1, '$.updatedAt', ?2)
    WHERE id IN (SELECT value FROM json_each(?1))`
  if (volumeIds.length > 0) database.run(sql, JSON.stringify(volumeIds), now)
}

function list(database: Database, query: NamedQuery): { records: VolumeRecord[]; hasMore: boolean } {
  const { rows, hasMore } = listPage(database, 'volumes', { ...query, status: null })
  return { records: rows.map(recordOf), hasMore }
}

function recordOf(row: Row): VolumeRecord {
  return JSON.parse(String(row.record)) as VolumeRecord
}

function attachmentOf(row: Row): Attachment {
  return {
    volumeId: String(row.volume_id),
    boxId: String(row.box_id),
    box: String(row.name),
    path: String(row.path),
    readOnly: row.read_only === 1,
  }
}

const ATTACHMENTS = `
  SELECT volume_id, box_id, name, path, read_only FROM attachments JOIN boxes ON boxes.id = box_id
  WHERE volume_id IN (SELECT value FROM json_each(?)) ORDER BY name`
