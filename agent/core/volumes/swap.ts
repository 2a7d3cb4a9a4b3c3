import type { Logger } from '../../../shared/log.ts'
import { refusal } from '../../../shared/refusals.ts'
import type { Runtime } from '../../ports/boxes/runtime.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { Store } from '../../ports/store/store.ts'
import type { VolumeRecord } from '../../ports/store/volumes.ts'
import { findVolume, volumeNotFound } from '../common/lookup.ts'
import { boxMountOf, unlessEnded } from '../reconcile/box-spec.ts'
import type { Reconciler } from '../reconcile/reconciler.ts'
import { automaticSnapshot } from '../snapshots/automatic.ts'

export interface VolumeSwapDeps {
  store: Store
  runtime: Runtime
  filesystem: CowFilesystem
  reconciler: Reconciler
  clock: Clock
  logger: Logger
}

/** A volume, and its new subvolume, with the data of `snapshot` or of a backup. */
export interface VolumeChange {
  volume: VolumeRecord
  subvolume: string
  snapshot: string
  tokenId: string
  /** The box that blocked the last attempt. It is detached first, before other boxes are disturbed. */
  busiest: string | null
}

/** The subvolume that was replaced, and the names of running boxes that do not have the new one mounted yet. */
export interface Swapped {
  replaced: string
  without: string[]
}

/**
 * Replaces the subvolume of a volume, in its record and in all boxes that have it. A running box is without the volume while the
 * record changes, so that an interruption at any point leaves no box with data that is not recorded.
 * @throws ServiceError `volume_not_found`, and `volume_busy`, `volume_in_use` or `box_busy` after `waitMs`, with nothing changed
 */
export async function swapTree(deps: VolumeSwapDeps, change: VolumeChange, waitMs: number): Promise<Swapped> {
  const { store, reconciler } = deps
  const attachments = await store.volumes.attachments([change.volume.id])
  const boxIds = attachments.map(({ boxId }) => boxId).toSorted()
  const enter = (index: number, running: readonly string[]): Promise<Swapped> => {
    const boxId = boxIds[index]
    if (boxId === undefined) return swapInTurn(deps, change, { boxIds, running })
    // Waits briefly for the next boxes, so as not to block the first while another is busy.
    const turnMs = index === 0 ? waitMs : Math.min(waitMs, NEXT_TURN_MS)
    const next = (isRunning: boolean): Promise<Swapped> => enter(index + 1, isRunning ? [...running, boxId] : running)
    return reconciler.exclusive(boxId, next, turnMs)
  }
  return enter(0, [])
}

/** Boxes without another step in progress, and the running ones among them. */
interface Turns {
  boxIds: readonly string[]
  running: readonly string[]
}

async function swapInTurn(deps: VolumeSwapDeps, change: VolumeChange, turns: Turns): Promise<Swapped> {
  const { store, filesystem, reconciler } = deps
  const volume = await findVolume(store, change.volume)
  if (volume.id !== change.volume.id) throw volumeNotFound(volume)
  const boxes = await boxesInTurn(deps, volume, turns)
  const tree = filesystem.path(volume.subvolume)
  const paths = new Map<string, string>()
  const without: string[] = []
  try {
    await detachAll(deps, change, { running: turns.running, tree, paths })
    await commit(deps, change, { volume, boxIds: turns.boxIds })
  } finally {
    // Mounts the subvolume in the current record, whether or not the commit succeeded.
    for (const box of boxes.filter(({ id }) => turns.running.includes(id))) {
      try {
        await mountRecorded(deps, { boxId: box.id, volumeId: volume.id, path: paths.get(box.id) })
      } catch (error) {
        deps.logger.error('failed to mount a volume of a box again', { box: box.id, volume: volume.id, error })
        reconciler.verify(box.id)
        without.push(box.name)
      }
    }
  }
  return { replaced: volume.subvolume, without }
}

/** Reads all boxes that have the volume. Throws before anything is changed if one cannot be included. */
async function boxesInTurn(
  { store }: VolumeSwapDeps,
  { id: volumeId }: VolumeRecord,
  { boxIds, running }: Turns,
): Promise<BoxRecord[]> {
  const boxes: BoxRecord[] = []
  for (const { boxId, box: name } of await store.volumes.attachments([volumeId])) {
    const box = await store.boxes.byId(boxId)
    if (box === null) continue
    if (!boxIds.includes(boxId))
      throw refusal('volume_in_use', [`The box "${name}" just got the data volume.`, 'Try again.'])
    if (box.restore?.data.some((each) => each.volumeId === volumeId))
      throw refusal('box_busy', [
        `The box "${name}" is being restored with the data volume.`,
        'Try again when that is done.',
      ])
    if (box.observed.status === 'unknown' && !running.includes(boxId))
      throw refusal('volume_in_use', [
        `The box "${name}" has the data volume, and it is not known whether it runs.`,
        'Try again when its node answers.',
      ])
    boxes.push(box)
  }
  return boxes
}

async function detachAll(
  { runtime }: VolumeSwapDeps,
  change: VolumeChange,
  { running, tree, paths }: { running: readonly string[]; tree: string; paths: Map<string, string> },
): Promise<void> {
  const first = running.filter((boxId) => boxId === change.busiest)
  for (const boxId of [...first, ...running.filter((each) => each !== change.busiest)]) {
    const mount = (await runtime.mounts(boxId)).find(({ source }) => source === tree)
    if (mount === undefined) continue
    paths.set(boxId, mount.path)
    change.busiest = boxId
    await unlessEnded(runtime.detach(boxId, tree))
  }
}

async function commit(
  { store, clock }: VolumeSwapDeps,
  { subvolume, snapshot, tokenId }: VolumeChange,
  { volume, boxIds }: { volume: VolumeRecord; boxIds: readonly string[] },
): Promise<void> {
  const now = clock.now()
  const replaced = { subvolume: volume.subvolume, data: [], snapshot, token: tokenId, now }
  const kept = automaticSnapshot('volume', volume, replaced)
  const volumes = [{ volumeId: volume.id, subvolume, replaces: volume.subvolume }]
  switch (await store.boxes.swap({ box: null, volumes, kept: [kept], given: boxIds, now })) {
    case 'stored':
      return
    case 'volume_gone':
      throw volumeNotFound(volume)
    case 'changed':
      throw refusal('volume_in_use', ['Another restore of the data volume was faster.', 'Try again.'])
    case 'volume_in_use':
      throw refusal('volume_in_use', ['A box just got the data volume, or is being restored with it.', 'Try again.'])
  }
}

async function mountRecorded(
  { store, runtime, filesystem }: VolumeSwapDeps,
  { boxId, volumeId, path }: { boxId: string; volumeId: string; path: string | undefined },
): Promise<void> {
  const mount = (await store.boxes.byId(boxId))?.mounts.find((each) => each.volumeId === volumeId)
  if (mount === undefined) return
  const tree = boxMountOf(mount, filesystem)
  if ((await runtime.mounts(boxId)).some(({ source }) => source === tree.source)) return
  // Uses the current path. The box may have moved the mount since it was attached, by renaming a directory above.
  await unlessEnded(runtime.attach(boxId, { ...tree, path: path ?? tree.path }))
}

const NEXT_TURN_MS = 200
