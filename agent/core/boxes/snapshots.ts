import type { ServiceError } from '../../../shared/errors.ts'
import { newId } from '../../../shared/ids.ts'
import { OTHER_NAME, refusal } from '../../../shared/refusals.ts'
import type { CreateBoxSnapshotBody, SnapshotListQuery } from '../../../shared/schemas/snapshots.ts'
import type { Runtime } from '../../ports/boxes/runtime.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { NewSnapshot, SnapshotData, SnapshotRecord } from '../../ports/store/snapshots.ts'
import type { Store } from '../../ports/store/store.ts'
import type { Caller } from '../common/caller.ts'
import { discardUncommitted } from '../common/create-record.ts'
import { boxGone, readBox } from '../common/lookup.ts'
import { checkIfMatch } from '../common/preconditions.ts'
import type { Reconciler } from '../reconcile/reconciler.ts'
import {
  checkSnapshotRoom,
  findBoxSnapshot,
  findEarlierSnapshot,
  listSnapshots,
  measureSnapshot,
  newSnapshot,
  removeSnapshot,
  SNAPSHOT_VERSION,
  type SnapshotState,
  snapshotNotFound,
} from '../snapshots/snapshots.ts'
import type { Boxes, BoxRef, Mutation } from './boxes.ts'

export interface BoxSnapshotsDeps {
  store: Store
  filesystem: CowFilesystem
  runtime: Runtime
  reconciler: Reconciler
  clock: Clock
  boxes: Pick<Boxes, 'get'>
  limits: { idempotencyKeepMs: number }
}

/** Takes, lists and removes snapshots of boxes. All throw `box_not_found`. */
export interface BoxSnapshots {
  /**
   * Takes the current root, and with `include_data` the data volumes at the same instant, while the box is frozen.
   * @throws ServiceError `name_taken`, `quota_exceeded`, `box_busy` for data of a box that starts or stops
   */
  create(
    caller: Caller,
    request: { ref: BoxRef; body: CreateBoxSnapshotBody },
    options: Mutation,
  ): Promise<SnapshotRecord>
  list(ref: BoxRef, query: SnapshotListQuery): Promise<{ records: SnapshotRecord[]; next: string | null }>
  /** Measures the snapshot. @throws ServiceError `snapshot_not_found` */
  get(ref: BoxRef, name: string): Promise<SnapshotState>
  /** Boxes made from it stay. @throws ServiceError `snapshot_not_found` */
  remove(ref: BoxRef, name: string, options: { ifMatch: string | null }): Promise<void>
}

/** Snapshots are read-only subvolumes that share their extents with the box. */
export function createBoxSnapshots(deps: BoxSnapshotsDeps): BoxSnapshots {
  const { store, boxes } = deps
  return {
    create: async (caller, { ref, body }, options) => {
      const box = await boxes.get(ref)
      const earlier = await findEarlierSnapshot(deps, box, { caller, body, idempotencyKey: options.idempotencyKey })
      if (earlier) return earlier
      if (body.name !== undefined && (await store.snapshots.get(box.id, body.name))) throw nameTaken(box, body.name)
      await checkSnapshotRoom(store, box)
      const createdBy = { token: caller.tokenId, idempotencyKey: options.idempotencyKey }
      const snapshot = newSnapshot('box', box, { body, createdBy, now: deps.clock.now() })
      return takeSnapshot(deps, snapshot, { withData: body.include_data === true, waitMs: options.waitMs })
    },
    list: async (ref, query) => listSnapshots(store, (await boxes.get(ref)).id, query),
    get: async (ref, name) =>
      measureSnapshot(deps, await findBoxSnapshot(store, await boxes.get(ref), name), ref.project),
    remove: async (ref, name, { ifMatch }) => {
      const box = await boxes.get(ref)
      const record = await findBoxSnapshot(store, box, name)
      checkIfMatch(ifMatch, SNAPSHOT_VERSION)
      if (!(await removeSnapshot(deps, record))) throw snapshotNotFound(box, name)
    },
  }
}

async function takeSnapshot(
  deps: BoxSnapshotsDeps,
  snapshot: NewSnapshot,
  { withData, waitMs }: { withData: boolean; waitMs: number },
): Promise<SnapshotRecord> {
  const { reconciler, runtime } = deps
  const { id } = snapshot.owner
  // Copying only the root is atomic, even while the box writes.
  if (!withData) return take(deps, await readBox(deps.store, { id }), { snapshot, frozen: (work) => work() })
  const turn = async (isRunning: boolean): Promise<SnapshotRecord> => {
    const box = await readBox(deps.store, { id })
    const data = box.mounts.map((mount) => partOf(mount, snapshot.createdAt))
    const frozen = (work: () => Promise<void>): Promise<void> => (isRunning ? runtime.frozen(id, work) : work())
    return take(deps, box, { snapshot: { ...snapshot, data }, frozen })
  }
  return reconciler.exclusive(id, turn, waitMs)
}

interface Take {
  snapshot: NewSnapshot
  /** Runs `work` while the box is frozen. */
  frozen(work: () => Promise<void>): Promise<void>
}

async function take(deps: BoxSnapshotsDeps, box: BoxRecord, { snapshot, frozen }: Take): Promise<SnapshotRecord> {
  const { store, filesystem } = deps
  const trees = treesOf(box, snapshot)
  const tombstones = trees.map(({ name }) => ({ id: name, root: name, createdAt: snapshot.createdAt }))
  let work: Promise<void> = Promise.resolve()
  try {
    for (const tombstone of tombstones) await store.tombstones.insert(tombstone)
    await frozen(() => {
      work = copyAll(filesystem, trees)
      return work
    })
    const record = await store.snapshots.insert(snapshot)
    if (record === 'name_taken') throw nameTaken(box, snapshot.name ?? '')
    if (record === 'owner_gone') throw boxGone(box)
    return record
  } catch (error) {
    // A copy must have ended before it is destroyed.
    await work.catch(() => undefined)
    await discardUncommitted(deps, ...tombstones)
    if (!(await store.boxes.byId(box.id))) throw boxGone(box)
    throw error
  }
}

async function copyAll(filesystem: CowFilesystem, trees: ReturnType<typeof treesOf>): Promise<void> {
  for (const tree of trees) await filesystem.snapshot({ ...tree, isReadOnly: true, quotaBytes: null })
}

function treesOf(
  box: BoxRecord,
  { subvolume, data }: NewSnapshot,
): { source: string; name: string; project: string }[] {
  const { project } = box
  const sources = new Map(box.mounts.map((mount) => [mount.volumeId, mount.subvolume]))
  const parts = data.map((part) => ({ source: sources.get(part.volumeId) ?? '', name: part.subvolume, project }))
  return [{ source: box.root, name: subvolume, project }, ...parts]
}

function partOf({ volumeId, name, path, readOnly }: BoxRecord['mounts'][number], now: number): SnapshotData {
  return { volumeId, name, subvolume: newId('snp', now), path, readOnly }
}

function nameTaken(box: BoxRecord, name: string): ServiceError {
  return refusal('name_taken', [`The box "${box.name}" has a snapshot named "${name}" already.`, OTHER_NAME])
}
