import type { MountRecord } from '../../../agent/ports/store/boxes.ts'
import type { NewSnapshot } from '../../../agent/ports/store/snapshots.ts'
import type { VolumeRecord } from '../../../agent/ports/store/volumes.ts'
import { newId } from '../../../shared/ids.ts'

/** Returns a complete record of an empty data volume. `overrides` replaces fields. */
export function volumeRecord(name: string, overrides: Partial<VolumeRecord> = {}): VolumeRecord {
  const id = newId('vol', Date.now())
  return {
    id,
    project: 'demo',
    name,
    version: 1,
    createdAt: 1,
    updatedAt: 1,
    subvolume: id,
    sizeGb: 2,
    from: null,
    backupSchedule: null,
    tags: {},
    createdBy: { token: 'tok_a', idempotencyKey: null },
    ...overrides,
  }
}

/** Returns the mount record of a volume in a box. */
export function mountOf({ id, name, subvolume }: VolumeRecord, changes: Partial<MountRecord> = {}): MountRecord {
  return { volumeId: id, name, subvolume, path: `/mnt/${name}`, readOnly: false, ...changes }
}

/** Returns a new, unnamed snapshot of `owner`. `overrides` replaces fields. */
export function snapshotRecord(owner: { id: string; name: string }, overrides: Partial<NewSnapshot> = {}): NewSnapshot {
  const id = newId('snp', Date.now())
  return {
    id,
    project: 'demo',
    owner: { kind: owner.id.startsWith('box_') ? 'box' : 'volume', id: owner.id, name: owner.name },
    name: null,
    comment: null,
    createdAt: 1,
    subvolume: id,
    automatic: false,
    data: [],
    sizeBytes: null,
    createdBy: { token: 'tok_a', idempotencyKey: null },
    ...overrides,
  }
}
