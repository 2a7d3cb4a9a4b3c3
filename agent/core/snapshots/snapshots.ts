import { ServiceError } from '../../../shared/errors.ts'
import { newId } from '../../../shared/ids.ts'
import { quotaExceeded } from '../../../shared/refusals.ts'
import type { CreateSnapshotBody, SnapshotListQuery } from '../../../shared/schemas/snapshots.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { NewSnapshot, SnapshotRecord } from '../../ports/store/snapshots.ts'
import type { Store } from '../../ports/store/store.ts'
import type { Tombstone } from '../../ports/store/tombstones.ts'
import type { VolumeRecord } from '../../ports/store/volumes.ts'
import type { Caller } from '../common/caller.ts'
import { volumeNotFound } from '../common/lookup.ts'
import { decodeCursor, encodeCursor } from '../common/paging.ts'

/** A snapshot with its measured size, which is not in its record. */
export interface SnapshotState {
  record: SnapshotRecord
  /** Bytes that only it refers to. Null where they were not counted, or its data is missing from the pool. */
  uniqueBytes: number | null
}

/** The owner of snapshots, which is a box or a data volume. */
export interface SnapshotOwner {
  id: string
  project: string
  name: string
}

/** Returns the record of a new snapshot, without the data volumes of a box. */
export function newSnapshot(
  kind: SnapshotRecord['owner']['kind'],
  { id: ownerId, project, name: ownerName }: SnapshotOwner,
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

/** Returns all subvolumes of a snapshot, its own first. */
export function subvolumesOf({ subvolume, data }: Pick<SnapshotRecord, 'subvolume' | 'data'>): string[] {
  return [subvolume, ...data.map((part) => part.subvolume)]
}

/** Snapshots that a box or volume may have, automatic ones counted. Restores may go beyond. */
export const SNAPSHOTS_MAX = 1000

/**
 * Refuses one more snapshot of a box or volume that has `SNAPSHOTS_MAX` or more, automatic ones counted.
 * @throws ServiceError `quota_exceeded`
 */
export async function checkSnapshotRoom(store: Store, owner: { id: string; name: string }): Promise<void> {
  const count = await store.snapshots.count(owner.id)
  if (count < SNAPSHOTS_MAX) return
  const why = `"${owner.name}" has ${count} snapshots, automatic ones counted, of at most ${SNAPSHOTS_MAX}.`
  throw quotaExceeded(why, 'Delete one.')
}

interface EarlierDeps {
  store: Store
  clock: Clock
  limits: { idempotencyKeepMs: number }
}

/**
 * Finds the snapshot that the same request made before its answer was lost. A snapshot without a name is only found by the
 * Idempotency-Key, for as long as keys are kept (docs/api.md#idempotency).
 */
export async function findEarlierSnapshot(
  { store, clock, limits }: EarlierDeps,
  owner: { id: string },
  { caller, body, idempotencyKey }: { caller: Caller; body: CreateSnapshotBody; idempotencyKey: string | null },
): Promise<SnapshotRecord | null> {
  if (idempotencyKey === null) return null
  const keptSince = clock.now() - limits.idempotencyKeepMs
  const isOwn = ({ name, createdAt, createdBy }: SnapshotRecord): boolean =>
    createdBy.token === caller.tokenId && name === (body.name ?? name) && createdAt > keptSince
  return (await store.snapshots.withKey(owner.id, idempotencyKey)).find(isOwn) ?? null
}

/**
 * Finds a snapshot of a box by its name.
 * @throws ServiceError `snapshot_not_found`
 */
export async function findBoxSnapshot(
  store: Store,
  box: Pick<BoxRecord, 'id' | 'name'>,
  name: string,
): Promise<SnapshotRecord> {
  const record = await store.snapshots.get(box.id, name)
  if (record) return record
  throw snapshotNotFound(box, name)
}

/** Returns the error for a snapshot that a box does not have. */
export function snapshotNotFound(box: Pick<BoxRecord, 'name'>, name: string): ServiceError {
  return new ServiceError('snapshot_not_found', `The box "${box.name}" has no snapshot named "${name}".`)
}

/**
 * Finds a snapshot of a data volume by its name.
 * @throws ServiceError `snapshot_not_found`, `volume_not_found` once the volume is deleted, which takes its snapshots along
 */
export async function findVolumeSnapshot(
  store: Store,
  volume: Pick<VolumeRecord, 'id' | 'project' | 'name'>,
  name: string,
): Promise<SnapshotRecord> {
  const record = await store.snapshots.get(volume.id, name)
  if (record) return record
  const current = await store.volumes.get(volume.project, volume.name)
  if (current?.id !== volume.id) throw volumeNotFound(volume)
  throw new ServiceError('snapshot_not_found', `The data volume "${volume.name}" has no snapshot named "${name}".`)
}

/** Lists a page of the snapshots of a box or data volume, oldest first. @throws ServiceError `invalid_request` */
export async function listSnapshots(
  store: Store,
  ownerId: string,
  { prefix = '', max_results: limit, continuation_token: token }: SnapshotListQuery,
): Promise<{ records: SnapshotRecord[]; next: string | null }> {
  const [after = null] = decodeCursor(token, 1) ?? []
  const { records, hasMore } = await store.snapshots.list({ ownerId, prefix, after, limit })
  const last = records.at(-1)
  return { records, next: hasMore && last ? encodeCursor([last.id]) : null }
}

/**
 * Measures a snapshot of `project` with its data volumes. Records the bytes that it refers to, and counts the bytes that only it refers to.
 */
export async function measureSnapshot(
  { store, filesystem }: { store: Store; filesystem: CowFilesystem },
  record: SnapshotRecord,
  project: string,
): Promise<SnapshotState> {
  const usages = await filesystem.measure(subvolumesOf(record), project)
  const known = usages.filter((usage) => usage !== null)
  // Data is missing from the pool, so only the size that was recorded before is known.
  if (known.length < usages.length) return { record, uniqueBytes: null }
  const sizeBytes = known.reduce((sum, usage) => sum + usage.sizeBytes, 0)
  const uniqueBytes = known.reduce((sum, usage) => sum + usage.uniqueBytes, 0)
  if (record.sizeBytes === null) await store.snapshots.measure(record.id, sizeBytes)
  return { record: { ...record, sizeBytes: record.sizeBytes ?? sizeBytes }, uniqueBytes }
}

export interface RemovalDeps {
  store: Store
  reconciler: { scheduleDestroy(tombstone: Tombstone): void }
  clock: Clock
}

/** Removes a snapshot with all its subvolumes. Boxes and volumes made from it stay. Returns false if it is gone. */
export async function removeSnapshot(deps: RemovalDeps, snapshot: SnapshotRecord): Promise<boolean> {
  const createdAt = deps.clock.now()
  const tombstones = subvolumesOf(snapshot).map((root) => ({ id: root, root, createdAt }))
  if (!(await deps.store.snapshots.remove(snapshot.id, tombstones))) return false
  for (const tombstone of tombstones) deps.reconciler.scheduleDestroy(tombstone)
  return true
}

/** Version of every snapshot, which never changes. */
export const SNAPSHOT_VERSION = 1
