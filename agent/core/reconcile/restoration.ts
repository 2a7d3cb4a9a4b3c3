import { asServiceError, type ServiceError } from '../../../shared/errors.ts'
import { refusal } from '../../../shared/refusals.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { BoxRecord, PendingRestore } from '../../ports/store/boxes.ts'
import type { SnapshotData } from '../../ports/store/snapshots.ts'
import type { Store } from '../../ports/store/store.ts'
import { volumeGone } from '../common/lookup.ts'
import { bytesOf } from '../common/sizes.ts'
import { automaticSnapshot, pruneAutomatic } from '../snapshots/automatic.ts'
import type { RemovalDeps } from '../snapshots/snapshots.ts'
import { pendingRecord, settleRecord } from './outcome.ts'
import { matchQuota, subvolumesFor, volumesOf } from './pending-restore.ts'
import { READY, STOPPED } from './plan.ts'

export interface RestorationDeps extends RemovalDeps {
  store: Store
  filesystem: CowFilesystem
  clock: Clock
  bootId: string
}

/** The records and subvolumes of a restore, of a box that does not run. Each step may be done again after a crash. */
export interface Restoration {
  /** The record to start the box from. */
  restored: BoxRecord
  /**
   * Makes the replaced subvolumes read-only, since they become a snapshot.
   * @throws ServiceError `volume_in_use` where another box runs with one of the volumes
   */
  seal(): Promise<void>
  /**
   * Records the restore. `isRunning` means that the box was started with the new subvolumes. Does nothing for a deleted box.
   * @throws ServiceError as `seal`, `volume_not_found`
   */
  commit(result: { isRunning: boolean }): Promise<void>
  /** Resolves true if this restore is no longer pending, because it was committed, it failed, or the box is deleted. */
  isOver(): Promise<boolean>
  /** Makes the replaced subvolumes writable again, and records why the restore failed. */
  undo(error: unknown): Promise<void>
}

/** Opens the pending restore of `record`. */
export async function openRestoration(deps: RestorationDeps, record: BoxRecord): Promise<Restoration> {
  const { store, filesystem } = deps
  const pending = record.restore
  if (pending === null) throw new Error('the box has no pending restore')
  const replaced = await findReplaced(deps, record, pending)
  const makeReadOnly = async (isReadOnly: boolean): Promise<void> => {
    for (const name of replaced.subvolumes) await filesystem.setReadOnly(name, isReadOnly)
  }
  return {
    restored: restoredRecord(record, pending),
    seal: async () => {
      await checkVolumes(store, record, pending)
      await makeReadOnly(true)
    },
    commit: async ({ isRunning }) => {
      if (await commit(deps, { boxId: record.id, pending, replaced, isRunning }))
        await matchQuotas(deps, record, pending)
      await pruneAutomatic(deps, record.id)
    },
    isOver: async () => (await store.boxes.byId(record.id))?.restore?.root !== pending.root,
    undo: async (error) => {
      await makeReadOnly(false)
      await recordFault(deps, { boxId: record.id, pending }, asServiceError(error))
    },
  }
}

interface Replaced {
  /** Null if it is missing from the pool. */
  root: string | null
  data: SnapshotData[]
  subvolumes: string[]
}

async function findReplaced(
  { store, filesystem }: RestorationDeps,
  record: BoxRecord,
  pending: PendingRestore,
): Promise<Replaced> {
  const root = (await filesystem.exists(record.root)) ? record.root : null
  const data: SnapshotData[] = []
  for (const { id: volumeId, name, subvolume } of (await volumesOf(store, pending.data)).values()) {
    if (!(await filesystem.exists(subvolume))) continue
    const mount = record.mounts.find((each) => each.volumeId === volumeId)
    // Writable, regardless of its mount now, so that a later restore can bring it back.
    data.push({
      volumeId,
      name,
      subvolume,
      path: mount?.path ?? '',
      readOnly: false,
    })
  }
  return {
    root,
    data,
    subvolumes: [...(root === null ? [] : [root]), ...data.map(({ subvolume }) => subvolume)],
  }
}

async function checkVolumes(store: Store, record: BoxRecord, pending: PendingRestore): Promise<void> {
  const attachments = await store.volumes.attachments(pending.data.map(({ volumeId }) => volumeId))
  for (const { boxId, box } of attachments) {
    const other = boxId === record.id ? null : await store.boxes.byId(boxId)
    const isAtRest = other?.desired.power === 'stopped' && other.observed.status === 'stopped'
    if (other !== null && !isAtRest) throw volumeInUse(`The box "${box}" runs with a data volume of the snapshot`)
  }
}

interface Commit {
  boxId: string
  pending: PendingRestore
  replaced: Replaced
  isRunning: boolean
}

/** Returns false if the box is gone, or the restore no longer pending. */
async function commit(deps: RestorationDeps, { boxId, pending, replaced, isRunning }: Commit): Promise<boolean> {
  const { store, clock, bootId } = deps
  for (;;) {
    const latest = await store.boxes.byId(boxId)
    if (latest?.restore?.root !== pending.root) return false
    const now = clock.now()
    const restored = restoredRecord(latest, pending)
    const isAsWanted = (latest.desired.power === 'running') === isRunning
    // If the desired state has changed, leave it to the next step.
    const box = isAsWanted
      ? settleRecord(restored, isRunning ? READY : STOPPED, { now, bootId, wasStarted: isRunning })
      : { ...restored, version: latest.version + 1, updatedAt: now }
    const replacement = { data: replaced.data, snapshot: pending.snapshot, token: latest.createdBy.token, now }
    const kept =
      replaced.root === null ? [] : [automaticSnapshot('box', latest, { ...replacement, subvolume: replaced.root })]
    switch (await store.boxes.swap({ box, volumes: pending.data, kept, given: [], now })) {
      case 'stored':
        return true
      case 'changed':
        continue
      case 'volume_gone':
        throw volumeGone('A data volume of the snapshot')
      case 'volume_in_use':
        throw volumeInUse('Another box runs with a data volume of the snapshot, or is being restored with it')
    }
  }
}

// Sets the quotas again, because updates may have changed sizes since the copies were made.
async function matchQuotas(deps: RestorationDeps, { config }: BoxRecord, pending: PendingRestore): Promise<void> {
  await deps.filesystem.setQuota(pending.root, bytesOf(config.storage_gb))
  for (const volume of (await volumesOf(deps.store, pending.data)).values()) await matchQuota(deps, volume, null)
}

async function recordFault(
  { store, clock, reconciler }: RestorationDeps,
  { boxId, pending }: { boxId: string; pending: PendingRestore },
  { code, message }: ServiceError,
): Promise<void> {
  for (;;) {
    const latest = await store.boxes.byId(boxId)
    if (latest?.restore?.root !== pending.root) return
    const now = clock.now()
    const isWanted = latest.desired.power === 'running'
    const restoreFault = { root: pending.root, code, detail: message }
    const next = pendingRecord({ ...latest, restore: null, restoreFault }, isWanted ? 'starting' : 'stopping', now)
    const tombstones = subvolumesFor(pending).map((root) => ({
      id: root,
      root,
      createdAt: now,
    }))
    if (!(await store.boxes.replace(next, { tombstones }))) continue
    for (const tombstone of tombstones) reconciler.scheduleDestroy(tombstone)
    return
  }
}

function restoredRecord(record: BoxRecord, pending: PendingRestore): BoxRecord {
  const subvolumes = new Map(pending.data.map(({ volumeId, subvolume }) => [volumeId, subvolume]))
  const mounts = record.mounts.map((mount) => {
    return {
      ...mount,
      subvolume: subvolumes.get(mount.volumeId) ?? mount.subvolume,
    }
  })
  return {
    ...record,
    root: pending.root,
    mounts,
    restore: null,
    restoreFault: null,
  }
}

function volumeInUse(fact: string): ServiceError {
  return refusal('volume_in_use', [`${fact}.`, 'Stop it, or detach the volume there.'])
}
