import type { ServiceError } from '../../../shared/errors.ts'
import { OTHER_NAME, refusal } from '../../../shared/refusals.ts'
import type { CreateSnapshotBody, SnapshotListQuery } from '../../../shared/schemas/snapshots.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { NewSnapshot, SnapshotRecord } from '../../ports/store/snapshots.ts'
import type { Store } from '../../ports/store/store.ts'
import type { VolumeRecord } from '../../ports/store/volumes.ts'
import type { Caller } from '../common/caller.ts'
import { discardUncommitted } from '../common/create-record.ts'
import { findVolume, type VolumeRef, volumeNotFound } from '../common/lookup.ts'
import { checkIfMatch } from '../common/preconditions.ts'
import type { Reconciler } from '../reconcile/reconciler.ts'
import {
  checkSnapshotRoom,
  findEarlierSnapshot,
  findVolumeSnapshot,
  listSnapshots,
  measureSnapshot,
  newSnapshot,
  removeSnapshot,
  SNAPSHOT_VERSION,
  type SnapshotState,
} from '../snapshots/snapshots.ts'
import { copyTree } from '../snapshots/tree-copy.ts'

export interface VolumeSnapshotsDeps {
  store: Store
  filesystem: CowFilesystem
  reconciler: Reconciler
  clock: Clock
  limits: { idempotencyKeepMs: number }
}

/** Takes, lists and removes snapshots of data volumes. */
export interface VolumeSnapshots {
  /** Takes the current data, attached or not. @throws ServiceError `volume_not_found`, `name_taken`, `quota_exceeded` */
  create(
    caller: Caller,
    ref: VolumeRef,
    request: { body: CreateSnapshotBody; idempotencyKey: string | null },
  ): Promise<SnapshotState>
  /** Measures the snapshot. @throws ServiceError `volume_not_found`, `snapshot_not_found` */
  get(ref: VolumeRef, snapshot: string): Promise<SnapshotState>
  /** Lists the snapshots, oldest first. @throws ServiceError `volume_not_found` */
  list(ref: VolumeRef, query: SnapshotListQuery): Promise<{ states: SnapshotState[]; next: string | null }>
  /** Resolves once the record is gone for good. Its space is freed later. Volumes made from it stay. */
  remove(ref: VolumeRef, snapshot: string, ifMatch: string | null): Promise<void>
}

/** Snapshots are read-only subvolumes, so the cost of one does not depend on size. */
export function createVolumeSnapshots(deps: VolumeSnapshotsDeps): VolumeSnapshots {
  const { store } = deps
  const find = async (ref: VolumeRef, snapshot: string): Promise<SnapshotRecord> =>
    findVolumeSnapshot(store, await findVolume(store, ref), snapshot)
  return {
    create: async (caller, ref, { body, idempotencyKey }) => {
      const volume = await findVolume(store, ref)
      const earlier = await findEarlierSnapshot(deps, volume, { caller, body, idempotencyKey })
      return { record: earlier ?? (await create(deps, volume, { caller, body, idempotencyKey })), uniqueBytes: null }
    },
    get: async (ref, snapshot) => measureSnapshot(deps, await find(ref, snapshot), ref.project),
    list: async (ref, query) => {
      const { records, next } = await listSnapshots(store, (await findVolume(store, ref)).id, query)
      return { states: records.map((record) => ({ record, uniqueBytes: null })), next }
    },
    remove: async (ref, snapshot, ifMatch) => {
      const record = await find(ref, snapshot)
      checkIfMatch(ifMatch, SNAPSHOT_VERSION)
      if (!(await removeSnapshot(deps, record))) await find(ref, snapshot)
    },
  }
}

interface SnapshotRequest {
  caller: Caller
  body: CreateSnapshotBody
  idempotencyKey: string | null
}

// A tombstone covers the subvolume until its record is written, and is dropped in that commit.
async function create(
  deps: VolumeSnapshotsDeps,
  volume: VolumeRecord,
  { caller, body, idempotencyKey }: SnapshotRequest,
): Promise<SnapshotRecord> {
  const { store, filesystem, clock } = deps
  const now = clock.now()
  const createdBy = { token: caller.tokenId, idempotencyKey }
  const snapshot = newSnapshot('volume', volume, { body, createdBy, now })
  const { id } = snapshot
  if (body.name !== undefined && (await store.snapshots.get(volume.id, body.name))) throw nameTaken(snapshot)
  await checkSnapshotRoom(store, volume)
  const source = async (): Promise<string> => {
    const { id: volumeId, subvolume } = await findVolume(store, volume)
    if (volumeId !== volume.id) throw volumeNotFound(volume)
    return subvolume
  }
  const tombstone = { id, root: id, createdAt: now }
  await store.tombstones.insert(tombstone)
  try {
    await copyTree(filesystem, source, { name: id, project: volume.project, isReadOnly: true, quotaBytes: null })
    const outcome = await store.snapshots.insert(snapshot)
    if (outcome === 'name_taken') throw nameTaken(snapshot)
    if (outcome === 'owner_gone') throw volumeNotFound(volume)
    return outcome
  } catch (error) {
    await discardUncommitted(deps, tombstone)
    throw error
  }
}

function nameTaken({ owner, name }: NewSnapshot): ServiceError {
  return refusal('name_taken', [`The data volume "${owner.name}" has a snapshot named "${name}" already.`, OTHER_NAME])
}
