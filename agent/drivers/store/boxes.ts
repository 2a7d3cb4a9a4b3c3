import type { BoxRecord, BoxStore, MountConflict, MountRecord } from '../../ports/store/boxes.ts'
import type { KeyedAnswer } from '../../ports/store/idempotency.ts'
import type { Tombstone } from '../../ports/store/tombstones.ts'
import { boxOf, replaceBox, storedBox } from './box-record.ts'
import type { Database } from './database.ts'
import { freeAllDomains, publishDomains } from './domains.ts'
import { isOneWriterConflict } from './errors.ts'
import { storeAnswer } from './idempotency.ts'
import { listPage } from './lists.ts'
import { inPages, PAGE } from './pages.ts'
import { removeSnapshots } from './snapshots.ts'
import { commitBeginRestore, commitSwap } from './swap.ts'
import { insertTombstone } from './tombstones.ts'
import { touchVolumes } from './volumes.ts'

/** Creates the store of boxes in SQLite: records as JSON, beside the columns that queries filter by, and a row for each attachment. */
export function createBoxStore(database: Database): BoxStore {
  return {
    insert: async (record) =>
      withMounts(database, record, (current) => {
        const sql = `INSERT INTO boxes (id, project, name, version, status, record) VALUES (?, ?, ?, ?, ?, ?)
          ON CONFLICT (project, name) DO NOTHING`
        const { id, project, name, version } = current
        if (database.run(sql, id, project, name, version, ...storedBox(current)) === 0) return 'name_taken'
        database.run('DELETE FROM tombstones WHERE id = ?', id)
        return 'stored'
      }),
    get: async (project, name) =>
      boxOf(database.get('SELECT record FROM boxes WHERE project = ? AND name = ?', project, name)),
    byId: async (id) => boxOf(database.get('SELECT record FROM boxes WHERE id = ?', id)),
    versionOf: async (id) => {
      const row = database.get('SELECT version FROM boxes WHERE id = ?', id)
      return row ? Number(row.version) : null
    },
    replace: async (record, effects) => {
      if (effects === undefined) return replaceBox(database, record)
      return database.transaction(() => {
        if (!replaceBox(database, record)) return false
        for (const tombstone of effects.tombstones) insertTombstone(database, tombstone)
        return true
      })
    },
    beginRestore: async (record) => commitBeginRestore(database, record),
    replaceMounts: async (record, answer = null) =>
      withMounts(database, record, (current) => replaceAnswered(database, current, answer)),
    publish: async (record) =>
      publishDomains(
        database,
        { boxId: record.id, service: '' },
        { domains: record.domains, write: () => replaceBox(database, record) },
      ),
    remove: async (id, version, tombstone) => database.freeing(() => removeBox(database, { id, version, tombstone })),
    swap: async (swap) => commitSwap(database, swap),
    list: async (query) => {
      const { rows, hasMore } = listPage(database, 'boxes', query)
      return { records: rows.flatMap((row) => boxOf(row) ?? []), hasMore }
    },
    ids: async () => database.all('SELECT id FROM boxes ORDER BY id').map(({ id }) => String(id)),
    each: () => {
      const sql = `SELECT record FROM boxes WHERE id > ? ORDER BY id LIMIT ${PAGE}`
      return inPages<BoxRecord>((last) => database.all(sql, last?.id ?? '').flatMap((row) => boxOf(row) ?? []))
    },
    withIdleStop: async () =>
      database
        .all("SELECT record FROM boxes WHERE idle_stop IS NOT NULL AND status = 'running' ORDER BY id")
        .flatMap((row) => boxOf(row) ?? []),
    running: async (after, limit) =>
      database.all(RUNNING, after?.project ?? '', after?.id ?? '', limit).map((row) => ({
        ...{ id: String(row.id), project: String(row.project) },
        ...{ root: String(row.root), since: Number(row.since) },
      })),
    countByStatus: async () => {
      const counts = { pending: 0, running: 0, stopped: 0, unknown: 0 }
      for (const row of database.all('SELECT status, count(*) AS n FROM boxes GROUP BY status')) {
        counts[row.status as keyof typeof counts] = Number(row.n)
      }
      return counts
    },
  }
}

function removeBox(
  database: Database,
  { id, version, tombstone }: { id: string; version: number; tombstone: Tombstone },
): Tombstone[] | null {
  return database.transaction(() => {
    const row = database.get('SELECT record FROM boxes WHERE id = ? AND version = ?', id, version)
    if (row === null) return null
    // Runs before the deletion of the box, because their events need its name, and the count of their bytes its project.
    database.run('DELETE FROM services WHERE box_id = ?', id)
    const snapshots = removeSnapshots(database, id, tombstone.createdAt)
    database.run('DELETE FROM boxes WHERE id = ?', id)
    database.run('DELETE FROM execs WHERE box_id = ?', id)
    freeAllDomains(database, id)
    touchVolumes(database, storedVolumes(database, id), tombstone.createdAt)
    database.run('DELETE FROM attachments WHERE box_id = ?', id)
    const all = [tombstone, ...restoreTombstones(boxOf(row), tombstone.createdAt)]
    for (const each of all) insertTombstone(database, each)
    return [...all, ...snapshots]
  })
}

/** Returns tombstones for the copies of a pending restore. */
function restoreTombstones(record: BoxRecord | null, now: number): Tombstone[] {
  const pending = record?.restore
  const subvolumes = pending ? [pending.root, ...pending.data.map(({ subvolume }) => subvolume)] : []
  return subvolumes.map((root) => ({ id: root, root, createdAt: now }))
}

function replaceAnswered(database: Database, record: BoxRecord, answer: KeyedAnswer | null): 'stored' | 'changed' {
  if (!replaceBox(database, record)) return 'changed'
  if (answer !== null) storeAnswer(database, answer)
  return 'stored'
}

/** Runs `write` and stores the mounts of `record`, in one transaction. */
function withMounts<T extends string>(
  database: Database,
  record: BoxRecord,
  write: (current: BoxRecord) => T | 'stored',
): T | 'stored' | MountConflict {
  try {
    return database.transaction(() => {
      const outcome = write(withSubvolumes(database, record))
      if (outcome === 'stored') storeMounts(database, record)
      return outcome
    })
  } catch (error) {
    if (error instanceof VolumeGone) return 'volume_gone'
    if (isOneWriterConflict(error)) return 'volume_in_use'
    throw error
  }
}

// A restore may have replaced the subvolume of a volume since the caller read it.
function withSubvolumes(database: Database, record: BoxRecord): BoxRecord {
  const sql = "SELECT record ->> '$.subvolume' AS subvolume FROM volumes WHERE id = ?"
  const mounts = record.mounts.map((mount) => {
    const row = database.get(sql, mount.volumeId)
    return row ? { ...mount, subvolume: String(row.subvolume) } : mount
  })
  return { ...record, mounts }
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

const RUNNING = `
  SELECT id, project, record ->> '$.root' AS root, record ->> '$.observed.since' AS since FROM boxes INDEXED BY boxes_by_status
  WHERE status = 'running' AND (project, id) > (?, ?) ORDER BY project, id LIMIT ?`

/** Thrown to roll a transaction back. */
class VolumeGone extends Error {}
