import { asServiceError, type ServiceError } from '../../../shared/errors.ts'
import { quotaExceeded, refusal } from '../../../shared/refusals.ts'
import type { AttachBody } from '../../../shared/schemas/volumes.ts'
import type { BoxMount, Runtime } from '../../ports/boxes/runtime.ts'
import type { Directory } from '../../ports/fleet/directory.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { BoxRecord, MountRecord } from '../../ports/store/boxes.ts'
import type { KeyedAnswer } from '../../ports/store/idempotency.ts'
import type { Store } from '../../ports/store/store.ts'
import type { VolumeRecord } from '../../ports/store/volumes.ts'
import type { Boxes } from '../boxes/boxes.ts'
import { checkMountPath, checkPathIsFree } from '../boxes/mount-paths.ts'
import type { Admission } from '../common/admission.ts'
import { awaitCommit } from '../common/commit.ts'
import { editRecord } from '../common/edit-record.ts'
import { findVolume, readBox, type VolumeRef, volumeGone } from '../common/lookup.ts'
import { checkIfMatch } from '../common/preconditions.ts'
import { recordGrowth } from '../common/record-bytes.ts'
import { missingError } from '../fleet/homes.ts'
import { boxMountOf, unlessEnded } from '../reconcile/box-spec.ts'
import { checkNoRestore } from '../reconcile/pending-restore.ts'
import type { Reconciler } from '../reconcile/reconciler.ts'
import { retryWhileBusy } from './retry-while-busy.ts'

export interface AttachmentsDeps {
  store: Store
  directory: Pick<Directory, 'cell' | 'find'>
  runtime: Runtime
  filesystem: CowFilesystem
  reconciler: Reconciler
  clock: Clock
  boxes: Boxes
  admission: Admission
}

/** How long an attach or detach waits, and the version of the volume it is conditional on. */
export interface AttachmentMutation {
  waitMs: number
  ifMatch: string | null
}

export interface DetachMutation extends AttachmentMutation {
  /**
   * The answer to a repeat of the request once the box is `record`. Null if it has no Idempotency-Key. Stored in the same commit,
   * since a completed detach looks the same as one that had nothing to do.
   */
  answerOf(record: BoxRecord): KeyedAnswer | null
}

/** Attachments of data volumes to boxes (docs/api.md#data-volumes). */
export interface Attachments {
  /**
   * Attaches a volume to a box, running or not. Succeeds if it is attached so already.
   * @throws ServiceError `volume_in_use`, `volume_on_other_node`, `mount_path_taken`, `path_invalid`, `box_busy`, `quota_exceeded`, with nothing changed
   */
  attach(ref: VolumeRef, body: AttachBody, options: AttachmentMutation): Promise<BoxRecord>
  /**
   * Detaches a volume from a box. Waits while its processes use it.
   * @throws ServiceError `not_attached`, `volume_busy`, `box_busy`, with nothing changed
   */
  detach(ref: VolumeRef, box: string, options: DetachMutation): Promise<BoxRecord>
}

/** Attaches to the record of a box, and mounts in the box if it runs. The reconciler completes a step that is cut off. */
export function createAttachments(deps: AttachmentsDeps): Attachments {
  const { store, directory, reconciler, clock } = deps
  const find = async (ref: VolumeRef, box: string, ifMatch: string | null) => {
    const volume = await findVolume(store, ref)
    checkIfMatch(ifMatch, volume.version)
    const found = await store.boxes.get(ref.project, box)
    if (found === null) throw missingError({ kind: 'box', project: ref.project, name: box }, directory)
    return { volume, boxId: found.id }
  }
  /** Brings a box to its record after an error with an unknown outcome. */
  const certain = (boxId: string, change: Promise<BoxRecord>): Promise<BoxRecord> =>
    change.catch((error: unknown) => {
      if (asServiceError(error).status >= 500) reconciler.verify(boxId)
      throw error
    })
  return {
    attach: async (ref, body, { waitMs, ifMatch }) => {
      checkMountPath(body.path)
      const { volume, boxId } = await find(ref, body.box, ifMatch)
      const options = { mount: mountOf(volume, body), deadline: clock.now() + waitMs }
      const turn = (isRunning: boolean): Promise<BoxRecord> =>
        certain(boxId, attach(deps, boxId, { ...options, isRunning }))
      return reconciler.exclusive(boxId, turn, waitMs)
    },
    detach: async (ref, box, { waitMs, ifMatch, answerOf }) => {
      const { volume, boxId } = await find(ref, box, ifMatch)
      const turn = (isRunning: boolean): Promise<BoxRecord> =>
        certain(boxId, detach(deps, boxId, { volume, isRunning, answerOf }))
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
  /** Time until which to wait for deleted boxes to release the volume, ms since the epoch. */
  deadline: number
}

// Writes the record first, which decides which box can write, and undoes it if the volume cannot be mounted.
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
  // Reads the subvolume again, because a restore may have replaced it since the lookup.
  const stored = (await readBox(deps.store, { id: boxId })).mounts.find(({ volumeId }) => volumeId === mount.volumeId)
  const tree = boxMountOf(stored ?? mount, filesystem)
  // Keeps a mount that is there, even if the box has moved it by renaming a directory above.
  if (!isNew && (await runtime.mounts(boxId)).some(({ source }) => source === tree.source)) return record
  try {
    const restMs = Math.max(deadline - clock.now(), 0)
    if (!mount.readOnly && !(await reconciler.untilFree([tree.source], restMs))) throw stillMounted(mount)
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

// Unmounts first, so that a volume in use stays. If cut off before the record is written, it is mounted again.
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
  const change = changeMounts(deps, boxId, { mountsOf: ({ mounts }) => without(mounts, volume.id), answerOf })
  return awaitCommit(change, () => reconciler.verify(boxId))
}

interface MountsChange {
  mountsOf(record: BoxRecord): MountRecord[]
  answerOf?: DetachMutation['answerOf']
}

/** Stores the mounts that `mountsOf` returns. Writes nothing if it returns the same array. */
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
    write: async (next, record) => {
      const growth = { project: record.project, recordBytes: recordGrowth(record, next) }
      const outcome = await deps.admission.admit(growth, () => store.boxes.replaceMounts(next, answerOf(next)))
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

function unchanged(box: BoxRecord, present: MountRecord, requested: MountRecord): MountRecord[] {
  if (present.path === requested.path && present.readOnly === requested.readOnly) return box.mounts
  const mode = present.readOnly ? 'read-only' : 'read-write'
  const detail = `The data volume "${present.name}" is attached to "${box.name}" at ${present.path} (${mode}) already.`
  throw refusal('volume_in_use', [detail, 'Detach it first to change that.'])
}

function without(mounts: MountRecord[], volumeId: string): MountRecord[] {
  const rest = mounts.filter((mount) => mount.volumeId !== volumeId)
  return rest.length === mounts.length ? mounts : rest
}

async function writerThere(store: Store, mount: MountRecord | undefined): Promise<ServiceError> {
  const attachments = await store.volumes.attachments(mount ? [mount.volumeId] : [])
  const writer = attachments.find(({ readOnly }) => !readOnly)
  const where = writer ? `The box "${writer.box}" writes to it, at ${writer.path}` : 'Another box writes to it'
  return refusal('volume_in_use', [`${where}.`, 'Detach it there, or attach it read-only.'])
}

function stillMounted({ name }: MountRecord): ServiceError {
  const detail = `A deleted box that has not ended yet still has the data volume "${name}".`
  return refusal('volume_in_use', [detail, 'Try again.'])
}

function tooMany({ name }: BoxRecord): ServiceError {
  const why = `\`data_mounts\`: the box "${name}" has ${MOUNTS_MAX} data volumes, the most a box can have.`
  return quotaExceeded(why, 'Detach one, or use another box.')
}

function notAttached({ name }: VolumeRecord, box: BoxRecord): ServiceError {
  return refusal('not_attached', [
    `The data volume "${name}" is not attached to "${box.name}".`,
    '`GET …/data/{volume}` lists the boxes that have it.',
  ])
}

const MOUNTS_MAX = 64
