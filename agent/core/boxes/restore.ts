import { ServiceError } from '../../../shared/errors.ts'
import { newId } from '../../../shared/ids.ts'
import type { BoxRestoreBody } from '../../../shared/schemas/snapshots.ts'
import type { SnapshotData, SnapshotRecord } from '../../ports/store/snapshots.ts'
import type { BoxRecord, PendingRestore, Store } from '../../ports/store/store.ts'
import { boxGone } from '../common/box-lookup.ts'
import { discardUncommitted } from '../common/discard-uncommitted.ts'
import { checkIfMatch } from '../common/preconditions.ts'
import { bytesOf } from '../common/sizes.ts'
import { pendingRecord } from '../reconcile/box-outcome.ts'
import { madeFor, volumesOf } from '../reconcile/pending-restore.ts'
import { checkNoRestore, restoreFailed } from '../reconcile/restore-fault.ts'
import { findBoxSnapshot } from '../snapshots/lookup.ts'
import type { BoxRef, Mutated, Mutation } from './boxes.ts'
import type { BoxSnapshotsDeps } from './snapshots.ts'

type BoxRestoreDeps = Omit<BoxSnapshotsDeps, 'limits'>

/** Brings a box back to a snapshot. */
export interface BoxRestore {
  /**
   * A box that runs is stopped, and started with what the snapshot held; what it had becomes an automatic snapshot. The data
   * volumes that it wrote to come back with it, whoever has them now. Where that fails, box and volumes are as they were.
   * @throws ServiceError `box_not_found`, `snapshot_not_found`, `volume_not_found`, `volume_in_use`, `box_busy` while another
   * restore is under way, `storage_full`; what made it fail
   */
  restore(ref: BoxRef, body: BoxRestoreBody, how: Mutation): Promise<Mutated>
}

/** Copies first, then the wish in the record of the box: what happens after that is the reconciler's, whoever waits. */
export function createBoxRestore(deps: BoxRestoreDeps): BoxRestore {
  const { reconciler, runtime, boxes, store } = deps
  return {
    restore: async (ref, body, how) => {
      const box = await boxes.get(ref)
      checkOpen(box, how)
      const snapshot = await findBoxSnapshot(store, box, body.snapshot)
      if (box.desired.power === 'running') await runtime.checkReady()
      const wish = await wishOf(deps, box, { snapshot, withData: body.include_data ?? snapshot.data.length > 0 })
      const { id, desired } = await recordWish(deps, { ref, box, wish, snapshot, how })
      reconciler.wake(id)
      const record = await reconciler.settled(id, desired.generation, how.waitMs)
      if (!record) throw boxGone(box)
      if (record.restoreFault?.root === wish.root) throw restoreFailed(record.restoreFault)
      return { record, isSettled: record.restore === null && record.observed.status !== 'pending' }
    },
  }
}

function checkOpen(box: BoxRecord, how: Mutation): void {
  checkIfMatch(how.ifMatch, box.version)
  checkNoRestore(box)
}

async function wishOf(
  { store, clock }: BoxRestoreDeps,
  box: BoxRecord,
  { snapshot, withData }: { snapshot: SnapshotRecord; withData: boolean },
): Promise<PendingRestore> {
  const now = clock.now()
  const parts = withData ? snapshot.data.filter(({ readOnly }) => !readOnly) : []
  await checkVolumes(store, box, parts)
  const data = parts.map(({ volumeId }) => ({ volumeId, subvolume: newId('vol', now) }))
  return { snapshot: snapshot.name, root: `sub_${newId('box', now)}`, data }
}

// Another box that has a volume would find other data in it.
async function checkVolumes(store: Store, box: BoxRecord, parts: readonly SnapshotData[]): Promise<void> {
  const volumes = await volumesOf(store, parts)
  for (const { volumeId, name } of parts) {
    if (volumes.has(volumeId)) continue
    const detail = `The data volume "${name}" of the snapshot was deleted; restore with include_data false.`
    throw new ServiceError('volume_not_found', detail)
  }
  const attachments = await store.volumes.attachments(parts.map(({ volumeId }) => volumeId))
  const other = attachments.find(({ boxId }) => boxId !== box.id)
  if (other === undefined) return
  const detail = `The box "${other.box}" has a data volume of the snapshot: detach it there, or restore with include_data false.`
  throw new ServiceError('volume_in_use', detail)
}

// Of two boxes that are restored with one volume at once, the second would find it out only after it was stopped.
async function volumeTaken(store: Store, box: BoxRecord, { data }: SnapshotRecord): Promise<ServiceError> {
  const volumeIds = new Set(data.map(({ volumeId }) => volumeId))
  const isRival = ({ id, restore }: BoxRecord): boolean =>
    id !== box.id && restore !== null && restore.data.some(({ volumeId }) => volumeIds.has(volumeId))
  const rival = (await store.boxes.all()).find(isRival)
  const who = rival ? `The box "${rival.name}" is being restored with` : 'Another box just got'
  return new ServiceError('volume_in_use', `${who} a data volume of the snapshot; try again later.`)
}

interface RestoreRequest {
  ref: BoxRef
  box: BoxRecord
  wish: PendingRestore
  snapshot: SnapshotRecord
  how: Mutation
}

async function recordWish(deps: BoxRestoreDeps, { ref, box, wish, snapshot, how }: RestoreRequest): Promise<BoxRecord> {
  const { store, boxes, clock } = deps
  const tombstones = madeFor(wish).map((root) => ({ id: root, root, createdAt: clock.now() }))
  try {
    for (const tombstone of tombstones) await store.tombstones.insert(tombstone)
    await copyAll(deps, box, { wish, snapshot })
    for (;;) {
      const latest = await boxes.get(ref)
      checkOpen(latest, how)
      const { power, generation } = latest.desired
      const wanted = { ...latest, restore: wish, restoreFault: null, desired: { power, generation: generation + 1 } }
      const next = pendingRecord(wanted, 'restoring', clock.now())
      if (latest.id !== box.id) throw boxGone(box)
      const outcome = await store.boxes.beginRestore(next)
      if (outcome === 'stored') return next
      if (outcome === 'volume_in_use') throw await volumeTaken(store, box, snapshot)
    }
  } catch (error) {
    await discardUncommitted(deps, ...tombstones)
    throw error
  }
}

async function copyAll(
  { store, filesystem }: BoxRestoreDeps,
  box: BoxRecord,
  { wish, snapshot }: { wish: PendingRestore; snapshot: SnapshotRecord },
): Promise<void> {
  const volumes = await volumesOf(store, wish.data)
  const copies = [
    { source: snapshot.subvolume, name: wish.root, quotaBytes: bytesOf(box.config.storage_gb) },
    ...wish.data.map(({ volumeId, subvolume }) => {
      const source = snapshot.data.find((part) => part.volumeId === volumeId)?.subvolume ?? ''
      const volume = volumes.get(volumeId)
      return { source, name: subvolume, quotaBytes: volume ? bytesOf(volume.sizeGb) : null }
    }),
  ]
  try {
    for (const copy of copies) await filesystem.snapshot({ ...copy, isReadOnly: false })
  } catch (error) {
    // It may have been deleted meanwhile, or the box: then that is not found, whatever the pool says.
    if ((await store.boxes.byId(box.id)) === null) throw boxGone(box)
    await findBoxSnapshot(store, box, snapshot.name)
    throw error
  }
}
