import { ServiceError } from '../../../shared/errors.ts'
import { newId } from '../../../shared/ids.ts'
import { refusal } from '../../../shared/refusals.ts'
import type { BoxRestoreBody } from '../../../shared/schemas/snapshots.ts'
import type { BoxRecord, PendingRestore } from '../../ports/store/boxes.ts'
import type { SnapshotData, SnapshotRecord } from '../../ports/store/snapshots.ts'
import type { Store } from '../../ports/store/store.ts'
import { discardUncommitted } from '../common/create-record.ts'
import { boxGone } from '../common/lookup.ts'
import { checkIfMatch } from '../common/preconditions.ts'
import { bytesOf } from '../common/sizes.ts'
import { pendingRecord } from '../reconcile/outcome.ts'
import { checkNoRestore, restoreFailed, subvolumesFor, volumesOf } from '../reconcile/pending-restore.ts'
import { findBoxSnapshot } from '../snapshots/snapshots.ts'
import type { BoxRef, Mutated, Mutation } from './boxes.ts'
import type { BoxSnapshotsDeps } from './snapshots.ts'

type BoxRestoreDeps = Omit<BoxSnapshotsDeps, 'limits'>

/** Restores boxes to snapshots. */
export interface BoxRestore {
  /**
   * Stops a running box, and starts it with copies of the snapshot. Keeps the replaced root and volumes as an automatic snapshot.
   * Also restores the data volumes that the box wrote to. A failure changes neither box nor volumes.
   * @throws ServiceError `box_not_found`, `snapshot_not_found`, `volume_not_found`, `volume_in_use`, `box_busy` while another
   * restore is under way, `storage_full`, and the cause of a failed restore
   */
  restore(ref: BoxRef, body: BoxRestoreBody, options: Mutation): Promise<Mutated>
}

/** Makes the copies, then records the pending restore in the box. The reconciler does the rest. */
export function createBoxRestore(deps: BoxRestoreDeps): BoxRestore {
  const { reconciler, runtime, boxes, store } = deps
  return {
    restore: async (ref, body, options) => {
      const box = await boxes.get(ref)
      checkOpen(box, options)
      const snapshot = await findBoxSnapshot(store, box, body.snapshot)
      if (box.desired.power === 'running') await runtime.checkReady()
      const pending = await pendingOf(deps, box, { snapshot, withData: body.include_data ?? snapshot.data.length > 0 })
      const { id, desired } = await recordPending(deps, { ref, box, pending, snapshot, options })
      reconciler.wake(id)
      const record = await reconciler.settled(id, desired.generation, options.waitMs)
      if (!record) throw boxGone(box)
      if (record.restoreFault?.root === pending.root) throw restoreFailed(record.restoreFault)
      return { record, isSettled: record.restore === null && record.observed.status !== 'pending' }
    },
  }
}

function checkOpen(box: BoxRecord, options: Mutation): void {
  checkIfMatch(options.ifMatch, box.version)
  checkNoRestore(box)
}

async function pendingOf(
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

// Refuses a volume that another box has, whose data would change under it.
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
  const why = `The box "${other.box}" has a data volume of the snapshot.`
  throw refusal('volume_in_use', [why, 'Detach it there, or restore with include_data false.'])
}

// Names the box that is being restored with one of these volumes: without a refusal now, this one would fail once stopped.
async function volumeTaken(store: Store, box: BoxRecord, { data }: SnapshotRecord): Promise<ServiceError> {
  const volumeIds = new Set(data.map(({ volumeId }) => volumeId))
  const isRival = ({ id, restore }: BoxRecord): boolean =>
    id !== box.id && restore !== null && restore.data.some(({ volumeId }) => volumeIds.has(volumeId))
  let rival: string | null = null
  for await (const each of store.boxes.each()) if (rival === null && isRival(each)) rival = each.name
  const who = rival ? `The box "${rival}" is being restored with` : 'Another box just got'
  return refusal('volume_in_use', [`${who} a data volume of the snapshot.`, 'Try again later.'])
}

interface RestoreRequest {
  ref: BoxRef
  box: BoxRecord
  pending: PendingRestore
  snapshot: SnapshotRecord
  options: Mutation
}

async function recordPending(
  deps: BoxRestoreDeps,
  { ref, box, pending, snapshot, options }: RestoreRequest,
): Promise<BoxRecord> {
  const { store, boxes, clock } = deps
  const tombstones = subvolumesFor(pending).map((root) => ({ id: root, root, createdAt: clock.now() }))
  try {
    for (const tombstone of tombstones) await store.tombstones.insert(tombstone)
    await copyAll(deps, box, { pending, snapshot })
    for (;;) {
      const latest = await boxes.get(ref)
      checkOpen(latest, options)
      const { power, generation } = latest.desired
      const restoring = {
        ...latest,
        restore: pending,
        restoreFault: null,
        desired: { power, generation: generation + 1 },
      }
      const next = pendingRecord(restoring, 'restoring', clock.now())
      if (latest.id !== box.id) throw boxGone(box)
      const outcome = await store.boxes.beginRestore(next)
      if (outcome === 'stored') return next
      if (outcome === 'volume_in_use') throw await volumeTaken(store, box, snapshot)
    }
  } catch (error) {
    await discardUncommitted(deps, ...tombstones)
    // The commit may have succeeded although it reported an error. Then the restore continues.
    deps.reconciler.wake(box.id)
    throw error
  }
}

async function copyAll(
  { store, filesystem }: BoxRestoreDeps,
  box: BoxRecord,
  { pending, snapshot }: { pending: PendingRestore; snapshot: SnapshotRecord },
): Promise<void> {
  const volumes = await volumesOf(store, pending.data)
  const copies = [
    { source: snapshot.subvolume, name: pending.root, quotaBytes: bytesOf(box.config.storage_gb) },
    ...pending.data.map(({ volumeId, subvolume }) => {
      const source = snapshot.data.find((part) => part.volumeId === volumeId)?.subvolume ?? ''
      const volume = volumes.get(volumeId)
      return { source, name: subvolume, quotaBytes: volume ? bytesOf(volume.sizeGb) : null }
    }),
  ]
  try {
    for (const copy of copies) await filesystem.snapshot({ ...copy, project: box.project, isReadOnly: false })
  } catch (error) {
    // Reports a snapshot or box that was just deleted as not found, regardless of the pool's error.
    if ((await store.boxes.byId(box.id)) === null) throw boxGone(box)
    await findBoxSnapshot(store, box, snapshot.name)
    throw error
  }
}
