import type { NewSnapshot, SnapshotRecord, SnapshotStore } from '../../ports/store/snapshots.ts'
import type { Tombstone } from '../../ports/store/tombstones.ts'
import type { Database, Row } from './database.ts'
import { PAGE_BYTES } from './pages.ts'
import { dropTombstones, insertTombstone } from './tombstones.ts'

/** Creates the store of snapshots in SQLite: records as JSON, beside the columns that queries filter by. */
export function createSnapshotStore(database: Database): SnapshotStore {
  return {
    insert: (snapshot) =>
      database.transactionSoon(() => {
        if (!hasOwner(database, snapshot)) return 'owner_gone'
        const record = insertSnapshot(database, snapshot)
        if (record !== null) dropTombstones(database, subvolumesOf(record))
        return record ?? 'name_taken'
      }),
    get: async (ownerId, name) => {
      const row = database.get('SELECT record FROM snapshots WHERE owner = ? AND name = ?', ownerId, name)
      return row ? recordOf(row) : null
    },
    list: async ({ ownerId, prefix, after, limit }) => {
      const sql = 'SELECT record FROM snapshots WHERE owner = ? AND id > ? AND name >= ? AND name < ? ORDER BY id'
      const most = { limit, bytesMax: PAGE_BYTES }
      const { rows, hasMore } = database.page(sql, most, ownerId, after ?? '', prefix, `${prefix}\u{10FFFF}`)
      return { records: rows.map(recordOf), hasMore }
    },
    of: async (ownerId) => snapshotsOf(database, ownerId),
    count: async (ownerId) =>
      Number(database.get('SELECT count(*) AS n FROM snapshots WHERE owner = ?', ownerId)?.n ?? 0),
    withKey: async (ownerId, key) => {
      const sql = 'SELECT record FROM snapshots WHERE owner = ? AND key = ? ORDER BY id'
      return database.all(sql, ownerId, key).map(recordOf)
    },
    all: async () => database.all('SELECT record FROM snapshots ORDER BY id').map(recordOf),
    measure: async (id, sizeBytes) => {
      database.run("UPDATE snapshots SET record = json_set(record, '$.sizeBytes', ?) WHERE id = ?", sizeBytes, id)
    },
    remove: (id, tombstones) =>
      database.freeingSoon(() => {
        if (database.run('DELETE FROM snapshots WHERE id = ?', id) === 0) return false
        for (const tombstone of tombstones) insertTombstone(database, tombstone)
        return true
      }),
  }
}

/** Removes the snapshots of a box or volume, inside the open transaction. Writes and returns their tombstones. */
export function removeSnapshots(database: Database, ownerId: string, now: number): Tombstone[] {
  const subvolumes = snapshotsOf(database, ownerId).flatMap(subvolumesOf)
  database.run('DELETE FROM snapshots WHERE owner = ?', ownerId)
  database.run('DELETE FROM snapshot_numbers WHERE owner = ?', ownerId)
  const tombstones = subvolumes.map((root) => ({ id: root, root, createdAt: now }))
  for (const tombstone of tombstones) insertTombstone(database, tombstone)
  return tombstones
}

function subvolumesOf({ subvolume, data }: SnapshotRecord): string[] {
  return [subvolume, ...data.map((each) => each.subvolume)]
}

function snapshotsOf(database: Database, ownerId: string): SnapshotRecord[] {
  return database.all('SELECT record FROM snapshots WHERE owner = ? ORDER BY id', ownerId).map(recordOf)
}

function hasOwner(database: Database, { owner }: NewSnapshot): boolean {
  const table = owner.kind === 'box' ? 'boxes' : 'volumes'
  return database.get(`SELECT 1 FROM ${table} WHERE id = ?`, owner.id) !== null
}

/**
 * Records a snapshot, inside the open transaction, or returns null if its owner has one of that name. A generated number is above the
 * numbers of all names that the owner ever had, including names chosen by clients and deleted snapshots.
 */
export function insertSnapshot(database: Database, snapshot: NewSnapshot): SnapshotRecord | null {
  const { id, owner } = snapshot
  const last = Number(database.get('SELECT last FROM snapshot_numbers WHERE owner = ?', owner.id)?.last ?? -1)
  const name = snapshot.name ?? `v${last + 1}`
  const record = { ...snapshot, name }
  const sql = `INSERT INTO snapshots (id, owner, name, record) VALUES (?, ?, ?, ?) ON CONFLICT (owner, name) DO NOTHING`
  if (database.run(sql, id, owner.id, name, JSON.stringify(record)) === 0) return null
  const number = Number(/^v(\d{1,15})$/.exec(name)?.[1] ?? -1)
  if (number > last) {
    const note = `INSERT INTO snapshot_numbers (owner, last) VALUES (?1, ?2) ON CONFLICT (owner) DO UPDATE SET last = ?2`
    database.run(note, owner.id, number)
  }
  return record
}

function recordOf(row: Row): SnapshotRecord {
  return JSON.parse(String(row.record)) as SnapshotRecord
}
