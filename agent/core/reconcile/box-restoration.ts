import { asServiceError, ServiceError } from '../../../shared/errors.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { SnapshotData } from '../../ports/store/snapshots.ts'
import type { BoxRecord, PendingRestore, Store } from '../../ports/store/store.ts'
import { bytesOf } from '../common/sizes.ts'
import { volumeGone } from '../common/volume-lookup.ts'
import { pruneAutomatic } from '../snapshots/automatic.ts'
import { automaticSnapshot } from '../snapshots/record.ts'
import type { RemovalDeps } from '../snapshots/removal.ts'
import { pendingRecord, settleRecord } from './box-outcome.ts'
import { matchQuota } from './match-quota.ts'
import { madeFor, volumesOf } from './pending-restore.ts'
import { READY, STOPPED } from './plan.ts'

export interface RestorationDeps extends RemovalDeps {
  store: Store
  filesystem: CowFilesystem
  clock: Clock
  bootId: string
}

/** A restore of a box that does not run, as far as records and trees go. Each step may be done again after a crash. */
export interface Restoration {
  /** The box as it is to be started. */
  restored: BoxRecord
  /**
   * Makes what is replaced read-only, since it becomes a snapshot.
   * @throws ServiceError `volume_in_use` where another box runs with one of the volumes
   */
  seal(): Promise<void>
  /**
   * Records it; `isRunning`: the box was started with what is new. A box that was deleted meanwhile is left to that.
   * @throws ServiceError as `seal`, `volume_not_found`
   */
  commit(result: { isRunning: boolean }): Promise<void>
  /** Whether the box wishes for it no more. */
  isOver(): Promise<boolean>
  /** Makes what was there writable again, and records that the restore failed, and why. */
  undo(error: unknown): Promise<void>
}

/** Opens the restore that `record` wishes for. */
export async function openRestoration(deps: RestorationDeps, record: BoxRecord): Promise<Restoration> {
  const { store, filesystem } = deps
  const wish = record.restore
  if (wish === null) throw new Error('the box wishes for no restore')
  const replaced = await findReplaced(deps, record, wish)
  const makeReadOnly = async (isReadOnly: boolean): Promise<void> => {
    for (const name of replaced.subvolumes) await filesystem.setReadOnly(name, isReadOnly)
  }
  return {
    restored: restoredRecord(record, wish),
    seal: async () => {
      await checkVolumes(store, record, wish)
      await makeReadOnly(true)
    },
    commit: async ({ isRunning }) => {
      if (await commit(deps, { boxId: record.id, wish, replaced, isRunning })) await matchQuotas(deps, record, wish)
      await pruneAutomatic(deps, record.id)
    },
    isOver: async () => (await store.boxes.byId(record.id))?.restore?.root !== wish.root,
    undo: async (error) => {
      await makeReadOnly(false)
      await recordFault(deps, { boxId: record.id, wish }, asServiceError(error))
    },
  }
}

interface Replaced {
  /** Null where it is lost. */
  root: string | null
  data: SnapshotData[]
  subvolumes: string[]
}

async function findReplaced(
  { store, filesystem }: RestorationDeps,
  record: BoxRecord,
  wish: PendingRestore,
): Promise<Replaced> {
  const root = (await filesystem.exists(record.root)) ? record.root : null
  const data: SnapshotData[] = []
  for (const { id: volumeId, name, subvolume } of (await volumesOf(store, wish.data)).values()) {
    if (!(await filesystem.exists(subvolume))) continue
    const mount = record.mounts.find((each) => each.volumeId === volumeId)
    // Not as it is mounted now: what a restore has replaced, another can bring back.
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

async function checkVolumes(store: Store, record: BoxRecord, wish: PendingRestore): Promise<void> {
  const attachments = await store.volumes.attachments(wish.data.map(({ volumeId }) => volumeId))
  for (const { boxId, box } of attachments) {
    const other = boxId === record.id ? null : await store.boxes.byId(boxId)
    const isAtRest = other?.desired.power === 'stopped' && other.observed.status === 'stopped'
    if (other !== null && !isAtRest) throw volumeInUse(`The box "${box}" runs with a data volume of the snapshot`)
  }
}

interface Commit {
  boxId: string
  wish: PendingRestore
  replaced: Replaced
  isRunning: boolean
}

/** False: the box is gone, or its wish. */
async function commit(deps: RestorationDeps, { boxId, wish, replaced, isRunning }: Commit): Promise<boolean> {
  const { store, clock, bootId } = deps
  for (;;) {
    const latest = await store.boxes.byId(boxId)
    if (latest?.restore?.root !== wish.root) return false
    const now = clock.now()
    const restored = restoredRecord(latest, wish)
    const isAsWanted = (latest.desired.power === 'running') === isRunning
    // Whoever wished for something else meanwhile is not overruled: the next step sees that wish.
    const box = isAsWanted
      ? settleRecord(restored, isRunning ? READY : STOPPED, { now, bootId })
      : { ...restored, version: latest.version + 1, updatedAt: now }
    const what = { data: replaced.data, snapshot: wish.snapshot, token: latest.createdBy.token, now }
    const kept = replaced.root === null ? [] : [automaticSnapshot('box', latest, { ...what, subvolume: replaced.root })]
    switch (await store.boxes.swap({ box, volumes: wish.data, kept, given: [], now })) {
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

// Updates may have changed sizes since the copies were made.
async function matchQuotas(deps: RestorationDeps, { config }: BoxRecord, wish: PendingRestore): Promise<void> {
  await deps.filesystem.setQuota(wish.root, bytesOf(config.storage_gb))
  for (const volume of (await volumesOf(deps.store, wish.data)).values()) await matchQuota(deps, volume, null)
}

async function recordFault(
  { store, clock, reconciler }: RestorationDeps,
  { boxId, wish }: { boxId: string; wish: PendingRestore },
  { code, message }: ServiceError,
): Promise<void> {
  for (;;) {
    const latest = await store.boxes.byId(boxId)
    if (latest?.restore?.root !== wish.root) return
    const now = clock.now()
    const isWanted = latest.desired.power === 'running'
    const restoreFault = { root: wish.root, code, detail: message }
    const next = pendingRecord({ ...latest, restore: null, restoreFault }, isWanted ? 'starting' : 'stopping', now)
    const tombstones = madeFor(wish).map((root) => ({
      id: root,
      root,
      createdAt: now,
    }))
    if (!(await store.boxes.replace(next, { tombstones }))) continue
    for (const tombstone of tombstones) reconciler.scheduleDestroy(tombstone)
    return
  }
}

function restoredRecord(record: BoxRecord, wish: PendingRestore): BoxRecord {
  const subvolumes = new Map(wish.data.map(({ volumeId, subvolume }) => [volumeId, subvolume]))
  const mounts = record.mounts.map((mount) => {
    return {
      ...mount,
      subvolume: subvolumes.get(mount.volumeId) ?? mount.subvolume,
    }
  })
  return {
    ...record,
    root: wish.root,
    mounts,
    restore: null,
    restoreFault: null,
  }
}

function volumeInUse(what: string): ServiceError {
  return new ServiceError('volume_in_use', `${what}: stop it, or detach the volume there.`)
}
