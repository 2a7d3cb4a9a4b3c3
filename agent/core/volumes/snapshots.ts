import { ServiceError } from '../../../shared/errors.ts'
import type { CreateSnapshotBody, SnapshotListQuery } from '../../../shared/schemas/snapshots.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { NewSnapshot, SnapshotRecord } from '../../ports/store/snapshots.ts'
import type { Store } from '../../ports/store/store.ts'
import type { VolumeRecord } from '../../ports/store/volumes.ts'
import type { Caller } from '../common/caller.ts'
import { discardUncommitted } from '../common/discard-uncommitted.ts'
import { checkIfMatch } from '../common/preconditions.ts'
import { findVolume, findVolumeSnapshot, type VolumeRef, volumeNotFound } from '../common/volume-lookup.ts'
import type { Reconciler } from '../reconcile/reconciler.ts'
import { checkSnapshotRoom } from '../snapshots/bounds.ts'
import { findEarlierSnapshot } from '../snapshots/earlier-snapshot.ts'
import { listSnapshots } from '../snapshots/pages.ts'
import { newSnapshot } from '../snapshots/record.ts'
import { removeSnapshot } from '../snapshots/removal.ts'
import { measureSnapshot } from '../snapshots/sizes.ts'
import { copyTree } from '../snapshots/tree-copy.ts'
import { SNAPSHOT_VERSION, type SnapshotState } from '../snapshots/view.ts'

export interface VolumeSnapshotsDeps {
  store: Store
  filesystem: CowFilesystem
  reconciler: Reconciler
  clock: Clock
  limits: { idempotencyKeepMs: number }
}

/** The snapshots of data volumes. */
export interface VolumeSnapshots {
  /** What the volume holds now, attached or not. @throws ServiceError `volume_not_found`, `name_taken`, `quota_exceeded` */
  create(
    caller: Caller,
    ref: VolumeRef,
    asked: { body: CreateSnapshotBody; idempotencyKey: string | null },
  ): Promise<SnapshotState>
  /** With its sizes, counted. @throws ServiceError `volume_not_found`, `snapshot_not_found` */
  get(ref: VolumeRef, snapshot: string): Promise<SnapshotState>
  /** Oldest first. @throws ServiceError `volume_not_found` */
  list(ref: VolumeRef, query: SnapshotListQuery): Promise<{ states: SnapshotState[]; next: string | null }>
  /** Resolves once the record is gone for good; space follows. What was made from it stays. */
  remove(ref: VolumeRef, snapshot: string, ifMatch: string | null): Promise<void>
}

/** Each is a read-only subvolume of its own: cost does not depend on size. */
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
    get: async (ref, snapshot) => measureSnapshot(deps, await find(ref, snapshot)),
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

interface Asked {
  caller: Caller
  body: CreateSnapshotBody
  idempotencyKey: string | null
}

// The tombstone stands for a subvolume that has no record yet, and goes in the commit that writes one.
async function create(
  deps: VolumeSnapshotsDeps,
  volume: VolumeRecord,
  { caller, body, idempotencyKey }: Asked,
): Promise<SnapshotRecord> {
  const { store, filesystem, clock } = deps
  const now = clock.now()
  const createdBy = { token: caller.tokenId, idempotencyKey }
  const wanted = newSnapshot('volume', volume, { body, createdBy, now })
  const { id } = wanted
  if (body.name !== undefined && (await store.snapshots.get(volume.id, body.name))) throw nameTaken(wanted)
  await checkSnapshotRoom(store, volume)
  const source = async (): Promise<string> => {
    const { id: volumeId, subvolume } = await findVolume(store, volume)
    if (volumeId !== volume.id) throw volumeNotFound(volume)
    return subvolume
  }
  const tombstone = { id, root: id, createdAt: now }
  await store.tombstones.insert(tombstone)
  try {
    await copyTree(filesystem, source, { name: id, isReadOnly: true, quotaBytes: null })
    const outcome = await store.snapshots.insert(wanted)
    if (outcome === 'name_taken') throw nameTaken(wanted)
    if (outcome === 'owner_gone') throw volumeNotFound(volume)
    return outcome
  } catch (error) {
    await discardUncommitted(deps, tombstone)
    throw error
  }
}

function nameTaken({ owner, name }: NewSnapshot): ServiceError {
  return new ServiceError('name_taken', `The data volume "${owner.name}" has a snapshot named "${name}" already.`)
}
