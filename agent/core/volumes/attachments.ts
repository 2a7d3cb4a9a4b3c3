import { ServiceError } from '../../../shared/errors.ts'
import type { AttachBody } from '../../../shared/schemas/volumes.ts'
import type { BoxMount, Runtime } from '../../ports/boxes/runtime.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { KeyedAnswer } from '../../ports/store/idempotency.ts'
import type { BoxRecord, MountRecord, Store } from '../../ports/store/store.ts'
import type { VolumeRecord } from '../../ports/store/volumes.ts'
import type { Boxes } from '../boxes/boxes.ts'
import { readBox } from '../common/box-lookup.ts'
import { editRecord } from '../common/edit-record.ts'
import { checkMountPath, checkPathIsFree } from '../common/mount-paths.ts'
import { checkIfMatch } from '../common/preconditions.ts'
import { retryWhileBusy } from '../common/retry-while-busy.ts'
import { findVolume, type VolumeRef, volumeGone } from '../common/volume-lookup.ts'
import { boxMountOf, unlessEnded } from '../reconcile/box-start.ts'
import type { Reconciler } from '../reconcile/reconciler.ts'
import { checkNoRestore } from '../reconcile/restore-fault.ts'

export interface AttachmentsDeps {
  store: Store
  runtime: Runtime
  filesystem: CowFilesystem
  reconciler: Reconciler
  clock: Clock
  boxes: Boxes
}

/** How long an attachment may take, and of which version of the volume. */
export interface AttachmentMutation {
  waitMs: number
  ifMatch: string | null
}

export interface DetachMutation extends AttachmentMutation {
  /**
   * What a repeat of the request is answered once this is the box; null if it has no key. Kept with the box, since a detach that
   * is done cannot be told from one that had nothing to do.
   */
  answerOf(record: BoxRecord): KeyedAnswer | null
}

/** Which boxes have which data volumes (docs/api.md#data-volumes). */
export interface Attachments {
  /**
   * Gives a volume to a box, running or not; the same again is a success.
   * @throws ServiceError `volume_in_use`, `mount_path_taken`, `path_invalid`, `box_busy`, with nothing changed
   */
  attach(ref: VolumeRef, body: AttachBody, how: AttachmentMutation): Promise<BoxRecord>
  /**
   * Takes a volume from a box; waits while its processes use it.
   * @throws ServiceError `not_attached`, `volume_busy`, `box_busy`, with nothing changed
   */
  detach(ref: VolumeRef, box: string, how: DetachMutation): Promise<BoxRecord>
}

/** Live attachments: the record tells what should be mounted, and a step that is cut off is brought to that. */
export function createAttachments(deps: AttachmentsDeps): Attachments {
  const { store, reconciler, clock, boxes } = deps
  const find = async (ref: VolumeRef, box: string, ifMatch: string | null) => {
    const volume = await findVolume(store, ref)
    checkIfMatch(ifMatch, volume.version)
    return { volume, boxId: (await boxes.get({ project: ref.project, name: box })).id }
  }
  return {
    attach: async (ref, body, { waitMs, ifMatch }) => {
      checkMountPath(body.path)
      const { volume, boxId } = await find(ref, body.box, ifMatch)
      const wish = { mount: mountOf(volume, body), deadline: clock.now() + waitMs }
      return reconciler.exclusive(boxId, (isRunning) => attach(deps, boxId, { ...wish, isRunning }), waitMs)
    },
    detach: async (ref, box, { waitMs, ifMatch, answerOf }) => {
      const { volume, boxId } = await find(ref, box, ifMatch)
      const turn = (isRunning: boolean): Promise<BoxRecord> => detach(deps, boxId, { volume, isRunning, answerOf })
      return retryWhileBusy((restMs) => reconciler.exclusive(boxId, turn, restMs), {
        ...{ clock, deadline: clock.now() + waitMs },
        codes: ['volume_busy'],
      })
    },
  }
}

interface Attach {
  mount: MountRecord
  isRunning: boolean
  /** Until when to wait for what others still hold. */
  deadline: number
}

// The record first: it alone decides which box writes. What then cannot be mounted is taken out of it again.
async function attach(
  deps: AttachmentsDeps,
  boxId: string,
  { mount, isRunning, deadline }: Attach,
): Promise<BoxRecord> {
  const { runtime, filesystem, reconciler, clock } = deps
  let isNew = false
  const record = await changeMounts(deps, boxId, {
    mountsOf: (now) => {
      const present = now.mounts.find(({ volumeId }) => volumeId === mount.volumeId)
      isNew = present === undefined
      if (present) return unchanged(now, present, mount)
      checkPathIsFree(mount.path, now.mounts)
      if (now.mounts.length >= MOUNTS_MAX) throw tooMany(now)
      return [...now.mounts, mount]
    },
  })
  if (!isRunning) return record
  // A restore may have given the volume another subvolume since it was looked up; what is stored has the right one.
  const stored = (await readBox(deps.store, { id: boxId })).mounts.find(({ volumeId }) => volumeId === mount.volumeId)
  const tree = boxMountOf(stored ?? mount, filesystem)
  // What is there stays, also where the box has moved it by renaming a directory above.
  if (!isNew && (await runtime.mounts(boxId)).some(({ source }) => source === tree.source)) return record
  try {
    const restMs = Math.max(deadline - clock.now(), 0)
    if (!mount.readOnly && !(await reconciler.untilFree([tree.source], restMs))) throw stillHeld(mount)
    await unlessEnded(runtime.attach(boxId, tree))
  } catch (error) {
    if (isNew) await undo(deps, boxId, { volumeId: mount.volumeId, tree })
    else reconciler.verify(boxId)
    throw error
  }
  return record
}

async function undo(
  deps: AttachmentsDeps,
  boxId: string,
  { volumeId, tree }: { volumeId: string; tree: BoxMount },
): Promise<void> {
  try {
    await unlessEnded(deps.runtime.detach(boxId, tree.source))
    await changeMounts(deps, boxId, { mountsOf: ({ mounts }) => without(mounts, volumeId) })
  } catch (cause) {
    deps.reconciler.verify(boxId)
    throw cause
  }
}

// The world first: what is in use stays. Cut off in between, it is mounted again, and nobody was told otherwise.
async function detach(
  deps: AttachmentsDeps,
  boxId: string,
  { volume, isRunning, answerOf }: { volume: VolumeRecord; isRunning: boolean } & Pick<DetachMutation, 'answerOf'>,
): Promise<BoxRecord> {
  const { runtime, filesystem, reconciler } = deps
  const record = await readBox(deps.store, { id: boxId })
  const mount = record.mounts.find(({ volumeId }) => volumeId === volume.id)
  if (mount === undefined) throw notAttached(volume, record)
  if (isRunning) await unlessEnded(runtime.detach(boxId, filesystem.path(mount.subvolume)))
  try {
    return await changeMounts(deps, boxId, { mountsOf: ({ mounts }) => without(mounts, volume.id), answerOf })
  } catch (error) {
    reconciler.verify(boxId)
    throw error
  }
}

interface MountsChange {
  mountsOf(record: BoxRecord): MountRecord[]
  answerOf?: DetachMutation['answerOf']
}

/** Stores the mounts that `mountsOf` gives; the record as it is if they are the same. */
async function changeMounts(
  deps: AttachmentsDeps,
  boxId: string,
  { mountsOf, answerOf = () => null }: MountsChange,
): Promise<BoxRecord> {
  const { store, clock } = deps
  return editRecord(clock, {
    read: () => readBox(store, { id: boxId }),
    edit: (record) => {
      checkNoRestore(record)
      const mounts = mountsOf(record)
      return mounts === record.mounts ? record : { ...record, mounts }
    },
    write: async (next) => {
      const outcome = await store.boxes.replaceMounts(next, answerOf(next))
      if (outcome === 'volume_gone') throw volumeGone('The data volume')
      if (outcome === 'volume_in_use') throw await writerThere(store, next.mounts.at(-1))
      return outcome === 'stored'
    },
  })
}

function mountOf(
  { id, name, subvolume }: VolumeRecord,
  { path, read_only: readOnly = false }: AttachBody,
): MountRecord {
  return { volumeId: id, name, subvolume, path, readOnly }
}

function unchanged(box: BoxRecord, present: MountRecord, wanted: MountRecord): MountRecord[] {
  if (present.path === wanted.path && present.readOnly === wanted.readOnly) return box.mounts
  const how = present.readOnly ? 'read-only' : 'read-write'
  const detail = `The data volume "${present.name}" is attached to "${box.name}" at ${present.path} (${how}) already.`
  throw new ServiceError('volume_in_use', detail)
}

function without(mounts: MountRecord[], volumeId: string): MountRecord[] {
  const rest = mounts.filter((mount) => mount.volumeId !== volumeId)
  return rest.length === mounts.length ? mounts : rest
}

async function writerThere(store: Store, mount: MountRecord | undefined): Promise<ServiceError> {
  const attachments = await store.volumes.attachments(mount ? [mount.volumeId] : [])
  const writer = attachments.find(({ readOnly }) => !readOnly)
  const where = writer ? `The box "${writer.box}" writes to it, at ${writer.path}` : 'Another box writes to it'
  return new ServiceError('volume_in_use', `${where}: detach it there, or attach it read-only.`)
}

function stillHeld({ name }: MountRecord): ServiceError {
  const detail = `A deleted box that has not ended yet still has the data volume "${name}".`
  return new ServiceError('volume_in_use', detail)
}

function tooMany({ name }: BoxRecord): ServiceError {
  return new ServiceError(
    'quota_exceeded',
    `The box "${name}" has ${MOUNTS_MAX} data volumes, the most a box can have.`,
  )
}

function notAttached({ name }: VolumeRecord, box: BoxRecord): ServiceError {
  return new ServiceError('not_attached', `The data volume "${name}" is not attached to "${box.name}".`)
}

const MOUNTS_MAX = 64
