import { ServiceError } from '../../../shared/errors.ts'
import { createKeyedLock } from '../../../shared/locks.ts'
import type { CreateVolumeBody, UpdateVolumeBody, VolumeListQuery } from '../../../shared/schemas/volumes.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { Store } from '../../ports/store/store.ts'
import type { Attachment, VolumeRecord } from '../../ports/store/volumes.ts'
import { resizeTree } from '../boxes/update.ts'
import type { Admission } from '../common/admission.ts'
import type { Caller } from '../common/caller.ts'
import { findByIdempotencyKey } from '../common/idempotent-create.ts'
import { namedPage, nextNamedPage } from '../common/paging.ts'
import { checkIfMatch } from '../common/preconditions.ts'
import { bytesOf } from '../common/sizes.ts'
import { findVolume, type VolumeRef } from '../common/volume-lookup.ts'
import type { Reconciler } from '../reconcile/reconciler.ts'
import { createVolume } from './create.ts'

export interface VolumesDeps {
  store: Store
  filesystem: CowFilesystem
  reconciler: Reconciler
  clock: Clock
  admission: Admission
  defaults: { volumeSizeGb: number }
}

/** A volume with what is not in its record. */
export interface VolumeState {
  record: VolumeRecord
  /** Null where the data is missing from the pool. */
  usedBytes: number | null
  attachments: readonly Attachment[]
}

/** Under which condition a volume is changed, and by which request. */
export interface VolumeMutation {
  ifMatch: string | null
  idempotencyKey: string | null
}

/** The data volumes of the API. */
export interface Volumes {
  create(caller: Caller, wanted: { project: string; body: CreateVolumeBody }, how: VolumeMutation): Promise<VolumeState>
  /** @throws ServiceError `volume_not_found` */
  get(ref: VolumeRef): Promise<VolumeState>
  list(caller: Caller, project: string, query: VolumeListQuery): Promise<{ states: VolumeState[]; next: string | null }>
  /** `check` sees the volume that is changed. @throws ServiceError `below_use` */
  update(
    ref: VolumeRef,
    body: UpdateVolumeBody,
    how: VolumeMutation & { check(state: VolumeState): void },
  ): Promise<VolumeState>
  /** Resolves once the record is gone for good; space follows. @throws ServiceError `volume_in_use` */
  remove(ref: VolumeRef, how: VolumeMutation): Promise<void>
}

/** Volumes are subvolumes of their own, with a quota that is their size. */
export function createVolumes(deps: VolumesDeps): Volumes {
  const { store, reconciler, clock } = deps
  const updates = createKeyedLock()
  const get = async (ref: VolumeRef): Promise<VolumeState> => stateOf(deps, await findVolume(store, ref))
  return {
    get,
    create: async (caller, wanted, how) => {
      const find = (): Promise<VolumeRecord | null> => store.volumes.get(wanted.project, wanted.body.name)
      const earlier = await findByIdempotencyKey(find, caller, how.idempotencyKey)
      if (earlier) return stateOf(deps, earlier)
      const { idempotencyKey } = how
      return stateOf(deps, await createVolume(deps, caller, { ...wanted, idempotencyKey }), [])
    },
    list: async (caller, project, query) => {
      const page = await store.volumes.list(namedPage(caller, project, query))
      const { records } = page
      const attachments = await store.volumes.attachments(records.map(({ id }) => id))
      return {
        states: await Promise.all(records.map((record) => stateOf(deps, record, attachments))),
        next: nextNamedPage(page),
      }
    },
    // One at a time: what bounds the subvolume in the end is what is recorded.
    update: (ref, body, how) =>
      updates.run(`${ref.project}/${ref.name}`, async () => {
        for (;;) {
          const state = await get(ref)
          checkIfMatch(how.ifMatch, state.record.version)
          how.check(state)
          const changed = await updateVolume(deps, state.record, body)
          if (changed) return { ...state, record: changed }
        }
      }),
    remove: async (ref, how) => {
      for (;;) {
        const record = await findVolume(store, ref)
        checkIfMatch(how.ifMatch, record.version)
        // Of a volume that was restored, the subvolume that has its id is that of a snapshot.
        const tombstone = { id: record.subvolume, root: record.subvolume, createdAt: clock.now() }
        const outcome = await store.volumes.remove(record.id, record.version, tombstone)
        if (outcome === 'attached') throw inUse(record, await store.volumes.attachments([record.id]))
        if (outcome === 'changed') continue
        for (const each of outcome) reconciler.scheduleDestroy(each)
        return
      }
    },
  }
}

async function stateOf(
  { store, filesystem }: VolumesDeps,
  record: VolumeRecord,
  known?: readonly Attachment[],
): Promise<VolumeState> {
  const attachments = known ?? (await store.volumes.attachments([record.id]))
  return {
    record,
    usedBytes: await usedBytesOf(filesystem, record.subvolume),
    attachments: attachments.filter(({ volumeId }) => volumeId === record.id),
  }
}

// Of data that is lost nothing can be measured: it must not hide the other volumes of a list.
async function usedBytesOf(filesystem: CowFilesystem, subvolume: string): Promise<number | null> {
  try {
    return await filesystem.usedBytes(subvolume)
  } catch (error) {
    if (await filesystem.exists(subvolume)) throw error
    return null
  }
}

/** Null: the record was another meanwhile. */
async function updateVolume(
  { store, filesystem, clock, admission, defaults }: VolumesDeps,
  record: VolumeRecord,
  body: UpdateVolumeBody,
): Promise<VolumeRecord | null> {
  const sizeGb = body.size_gb === null ? defaults.volumeSizeGb : (body.size_gb ?? record.sizeGb)
  const tags = body.tags === null ? {} : (body.tags ?? record.tags)
  const next = { ...record, sizeGb, tags, version: record.version + 1, updatedAt: clock.now() }
  const growth = sizeGb - record.sizeGb
  if (growth === 0 && JSON.stringify(tags) === JSON.stringify(record.tags)) return record
  const wish = { project: record.project, storageGb: growth }
  await admission.check(wish)
  let isStored = false
  try {
    if (growth !== 0) await resizeTree(filesystem, { name: record.subvolume, what: 'The data volume' }, sizeGb)
    isStored = await admission.admit(wish, () => store.volumes.replace(next))
    return isStored ? next : null
  } catch (error) {
    // It may have been deleted meanwhile, or restored.
    if ((await findVolume(store, record)).subvolume !== record.subvolume) return null
    throw error
  } finally {
    // Where this fails as well, or is cut off, the next start of the service does it.
    const restored = isStored || growth === 0 ? null : filesystem.setQuota(record.subvolume, bytesOf(record.sizeGb))
    await restored?.catch(() => undefined)
  }
}

function inUse({ name }: VolumeRecord, attachments: readonly Attachment[]): ServiceError {
  const boxes = attachments.map(({ box }) => `"${box}"`).join(', ')
  return new ServiceError('volume_in_use', `The data volume "${name}" is attached to ${boxes}: detach it first.`)
}
