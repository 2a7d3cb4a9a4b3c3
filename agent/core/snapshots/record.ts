import { newId } from '../../../shared/ids.ts'
import type { CreateSnapshotBody } from '../../../shared/schemas/snapshots.ts'
import type { NewSnapshot, SnapshotData, SnapshotRecord } from '../../ports/store/snapshots.ts'

/** What has snapshots: a box or a data volume. */
interface Owner {
  id: string
  project: string
  name: string
}

/** A snapshot that is to be taken, without the data volumes of a box. */
export function newSnapshot(
  kind: SnapshotRecord['owner']['kind'],
  { id: ownerId, project, name: ownerName }: Owner,
  { body, createdBy, now }: { body: CreateSnapshotBody; createdBy: SnapshotRecord['createdBy']; now: number },
): NewSnapshot {
  const id = newId('snp', now)
  return {
    id,
    project,
    owner: { kind, id: ownerId, name: ownerName },
    name: body.name ?? null,
    comment: body.comment ?? null,
    createdAt: now,
    subvolume: id,
    automatic: false,
    data: [],
    sizeBytes: null,
    createdBy,
  }
}

/** What a restore to `snapshot` replaces, for whoever wants it back; `subvolume` is what it has always had. */
export function automaticSnapshot(
  kind: SnapshotRecord['owner']['kind'],
  owner: Owner,
  replaced: { subvolume: string; data: SnapshotData[]; snapshot: string; token: string; now: number },
): NewSnapshot {
  const { subvolume, data, snapshot, token, now } = replaced
  const body = { comment: `Before the restore of "${snapshot}".` }
  const record = newSnapshot(kind, owner, { body, createdBy: { token, idempotencyKey: null }, now })
  return { ...record, subvolume, data, automatic: true }
}

/** All subvolumes that a snapshot has, its own first. */
export function subvolumesOf({ subvolume, data }: Pick<SnapshotRecord, 'subvolume' | 'data'>): string[] {
  return [subvolume, ...data.map((part) => part.subvolume)]
}
