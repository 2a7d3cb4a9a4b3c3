import type { BoxRecord, BoxStore, MountRecord, Swap } from '../../ports/store/boxes.ts'
import { replaceBox } from './box-record.ts'
import type { Database } from './database.ts'
import { insertSnapshot } from './snapshots.ts'
import { dropTombstones } from './tombstones.ts'

/** Commits a pending restore. See `BoxStore.beginRestore`. */
export function commitBeginRestore(database: Database, box: BoxRecord): Awaited<ReturnType<BoxStore['beginRestore']>> {
  const { root, data = [] } = box.restore ?? {}
  const isTaken = ({ volumeId }: { volumeId: string }): boolean =>
    isRestoredElsewhere(database, volumeId, box.id) || isAttachedElsewhere(database, volumeId, box.id)
  return database.transaction(() => {
    if (data.some(isTaken)) return 'volume_in_use'
    if (!replaceBox(database, box)) return 'changed'
    dropTombstones(database, [...(root ? [root] : []), ...data.map(({ subvolume }) => subvolume)])
    return 'stored'
  })
}

/** Commits the replacements of a restore. See `BoxStore.swap`. */
export function commitSwap(database: Database, swap: Swap): 'stored' | 'changed' | 'volume_gone' | 'volume_in_use' {
  const { box, volumes, kept, now } = swap
  try {
    database.transaction(() => {
      if (box !== null && !replaceBox(database, box)) throw new Refused('changed')
      for (const volume of volumes) {
        replaceTree(database, volume, now)
        if (isRestoredElsewhere(database, volume.volumeId, box?.id ?? null)) throw new Refused('volume_in_use')
        updateOtherBoxes(database, swap, volume)
      }
      for (const snapshot of kept) insertSnapshot(database, snapshot)
      dropTombstones(database, [...(box ? [box.root] : []), ...volumes.map(({ subvolume }) => subvolume)])
    })
    return 'stored'
  } catch (error) {
    if (error instanceof Refused) return error.outcome
    throw error
  }
}

function replaceTree(
  database: Database,
  { volumeId, subvolume, replaces }: Swap['volumes'][number],
  now: number,
): void {
  const row = database.get("SELECT record ->> '$.subvolume' AS subvolume FROM volumes WHERE id = ?", volumeId)
  if (row === null) throw new Refused('volume_gone')
  if (replaces !== undefined && row.subvolume !== replaces) throw new Refused('changed')
  const sql = `UPDATE volumes SET version = version + 1, record = json_set(record, '$.version', version + 1,
    '$.updatedAt', ?, '$.subvolume', ?) WHERE id = ?`
  database.run(sql, now, subvolume, volumeId)
}

// The pending restore of another box may have read already which subvolume it replaces.
function isRestoredElsewhere(database: Database, volumeId: string, boxId: string | null): boolean {
  const sql = `SELECT 1 FROM boxes, json_each(boxes.record, '$.restore.data') AS part
    WHERE part.value ->> '$.volumeId' = ? AND boxes.id IS NOT ? LIMIT 1`
  return database.get(sql, volumeId, boxId) !== null
}

function isAttachedElsewhere(database: Database, volumeId: string, boxId: string): boolean {
  const sql = 'SELECT 1 FROM attachments WHERE volume_id = ? AND box_id <> ? LIMIT 1'
  return database.get(sql, volumeId, boxId) !== null
}

// The record of a box names the subvolume of each of its volumes, which its next start mounts.
function updateOtherBoxes(
  database: Database,
  { box, given, now }: Swap,
  { volumeId, subvolume }: { volumeId: string; subvolume: string },
): void {
  const rows = database.all(
    'SELECT record FROM boxes JOIN attachments ON boxes.id = box_id WHERE volume_id = ?',
    volumeId,
  )
  for (const row of rows) {
    const record = JSON.parse(String(row.record)) as BoxRecord
    if (record.id === box?.id) continue
    const isAtRest = record.desired.power === 'stopped' && record.observed.status === 'stopped'
    if (!isAtRest && !given.includes(record.id)) throw new Refused('volume_in_use')
    const mounts = record.mounts.map(
      (mount): MountRecord => (mount.volumeId === volumeId ? { ...mount, subvolume } : mount),
    )
    replaceBox(database, { ...record, mounts, version: record.version + 1, updatedAt: now })
  }
}

/** Thrown to roll a transaction back. */
class Refused extends Error {
  readonly outcome: 'changed' | 'volume_gone' | 'volume_in_use'

  constructor(outcome: 'changed' | 'volume_gone' | 'volume_in_use') {
    super(outcome)
    this.outcome = outcome
  }
}
