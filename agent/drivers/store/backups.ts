import type { BackupRecord, BackupRecords } from '../../ports/store/backups.ts'
import type { Tombstone } from '../../ports/store/tombstones.ts'
import type { Database, Row } from './database.ts'
import { dropTombstones, insertTombstone } from './tombstones.ts'

/** Creates the store of backups in SQLite: records as JSON, beside the columns that queries filter by. */
export function createBackupRecords(database: Database): BackupRecords {
  return {
    insert: async (record) =>
      database.transaction(() => {
        if (!hasVolume(database, record.volumeId)) return false
        const sql = 'INSERT INTO backups (id, volume_id, project, status, record) VALUES (?, ?, ?, ?, ?)'
        const { id, volumeId, project, status, subvolume } = record
        database.run(sql, id, volumeId, project, status, JSON.stringify(record))
        if (subvolume !== null) dropTombstones(database, [subvolume])
        return true
      }),
    get: async (id) => {
      const row = database.get('SELECT record FROM backups WHERE id = ?', id)
      return row ? recordOf(row) : null
    },
    of: async (volumeId) => backupsOf(database, volumeId),
    all: async () => database.all('SELECT record FROM backups ORDER BY id').map(recordOf),
    running: async () => database.all("SELECT record FROM backups WHERE status = 'running' ORDER BY id").map(recordOf),
    write: async (records, tombstones = []) =>
      database.freeing(() =>
        database.transaction(() => {
          const all = [...tombstones]
          for (const record of records) all.push(...writeRecord(database, record))
          for (const tombstone of all) insertTombstone(database, tombstone)
          return all
        }),
      ),
    remove: async (id) => database.freeing(() => void database.run('DELETE FROM backups WHERE id = ?', id)),
  }
}

/**
 * Releases the copies that backups of a deleted volume keep, inside the open transaction. Returns their tombstones. A running backup
 * releases its own at its end.
 */
export function releaseBackups(database: Database, volumeId: string, now: number): Tombstone[] {
  const kept = backupsOf(database, volumeId).filter(({ status }) => status !== 'running')
  const tombstones = kept.flatMap(({ subvolume }) => (subvolume === null ? [] : [tombstoneOf(subvolume, now)]))
  for (const record of kept) update(database, { ...record, subvolume: null })
  for (const tombstone of tombstones) insertTombstone(database, tombstone)
  return tombstones
}

function writeRecord(database: Database, record: BackupRecord): Tombstone[] {
  const { volumeId, status, subvolume, endedAt } = record
  const isOrphan = status !== 'running' && subvolume !== null && !hasVolume(database, volumeId)
  update(database, isOrphan ? { ...record, subvolume: null } : record)
  return isOrphan ? [tombstoneOf(subvolume, endedAt ?? 0)] : []
}

function update(database: Database, record: BackupRecord): void {
  const sql = 'UPDATE backups SET status = ?, record = ? WHERE id = ?'
  database.run(sql, record.status, JSON.stringify(record), record.id)
}

function backupsOf(database: Database, volumeId: string): BackupRecord[] {
  return database.all('SELECT record FROM backups WHERE volume_id = ? ORDER BY id', volumeId).map(recordOf)
}

function hasVolume(database: Database, volumeId: string): boolean {
  return database.get('SELECT 1 FROM volumes WHERE id = ?', volumeId) !== null
}

function tombstoneOf(root: string, createdAt: number): Tombstone {
  return { id: root, root, createdAt }
}

function recordOf(row: Row): BackupRecord {
  return { isSigned: false, ...(JSON.parse(String(row.record)) as Omit<BackupRecord, 'isSigned'>) }
}
