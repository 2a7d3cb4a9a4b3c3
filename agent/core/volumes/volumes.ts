import type { ServiceError } from '../../../shared/errors.ts'
import { createKeyedLock } from '../../../shared/locks.ts'
import { refusal } from '../../../shared/refusals.ts'
import type { CreateVolumeBody, UpdateVolumeBody, VolumeListQuery } from '../../../shared/schemas/volumes.ts'
import type { Directory } from '../../ports/fleet/directory.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { Store } from '../../ports/store/store.ts'
import type { Attachment, VolumeRecord } from '../../ports/store/volumes.ts'
import type { Admission } from '../common/admission.ts'
import type { Caller } from '../common/caller.ts'
import { findByIdempotencyKey } from '../common/create-record.ts'
import { bumped } from '../common/edit-record.ts'
import { findVolume, type VolumeRef } from '../common/lookup.ts'
import { namedPage, nextNamedPage } from '../common/paging.ts'
import { checkIfMatch } from '../common/preconditions.ts'
import { resizeTree } from '../common/sizes.ts'
import { homeOf, releaseDeleted } from '../fleet/homes.ts'
import { matchQuota } from '../reconcile/pending-restore.ts'
import type { Reconciler } from '../reconcile/reconciler.ts'
import { createVolume } from './create.ts'

export interface VolumesDeps {
  store: Store
  filesystem: CowFilesystem
  directory: Directory
  reconciler: Reconciler
  clock: Clock
  admission: Admission
  defaults: { volumeSizeGb: number }
}

/** A volume with its usage and attachments, which are not in its record. */
export interface VolumeState {
  record: VolumeRecord
  /** Null where the data is missing from the pool. */
  usedBytes: number | null
  attachments: readonly Attachment[]
}

/** The conditions of a mutation of a volume. */
export interface VolumeMutation {
  ifMatch: string | null
  idempotencyKey: string | null
}

/** The data volumes of the API. */
export interface Volumes {
  create(
    caller: Caller,
    request: { project: string; body: CreateVolumeBody },
    options: VolumeMutation,
  ): Promise<VolumeState>
  /** @throws ServiceError `volume_not_found` */
  get(ref: VolumeRef): Promise<VolumeState>
  list(caller: Caller, project: string, query: VolumeListQuery): Promise<{ states: VolumeState[]; next: string | null }>
  /** `check` gets the volume before the change. @throws ServiceError `below_use` */
  update(
    ref: VolumeRef,
    body: UpdateVolumeBody,
    options: VolumeMutation & { check(state: VolumeState): void },
  ): Promise<VolumeState>
  /** Resolves once the record is gone for good. Its space is freed later. @throws ServiceError `volume_in_use` */
  remove(ref: VolumeRef, options: VolumeMutation): Promise<void>
}

/** Volumes are subvolumes of their own, with a quota that is their size. */
export function createVolumes(deps: VolumesDeps): Volumes {
  const { store, reconciler, clock } = deps
  const updates = createKeyedLock()
  const get = async (ref: VolumeRef): Promise<VolumeState> => stateOf(deps, await findVolume(store, ref))
  return {
    get,
    create: async (caller, request, options) => {
      const find = (): Promise<VolumeRecord | null> => store.volumes.get(request.project, request.body.name)
      const earlier = await findByIdempotencyKey(find, caller, options.idempotencyKey)
      if (earlier) return stateOf(deps, earlier)
      const { idempotencyKey } = options
      return stateOf(deps, await createVolume(deps, caller, { ...request, idempotencyKey }), [])
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
    // Serializes updates of a volume, so that the quota of the subvolume ends up as recorded.
    update: (ref, body, options) =>
      updates.run(`${ref.project}/${ref.name}`, async () => {
        for (;;) {
          const state = await get(ref)
          checkIfMatch(options.ifMatch, state.record.version)
          options.check(state)
          const changed = await updateVolume(deps, state.record, body)
          if (changed) return { ...state, record: changed }
        }
      }),
    remove: async (ref, options) => {
      for (;;) {
        const record = await findVolume(store, ref)
        checkIfMatch(options.ifMatch, record.version)
        // Names the subvolume, not the volume: after a restore, the subvolume named by the volume's id belongs to a snapshot.
        const home = homeOf('volume', record)
        const tombstone = { id: record.subvolume, root: record.subvolume, createdAt: clock.now(), home }
        const outcome = await store.volumes.remove(record.id, record.version, tombstone)
        if (outcome === 'attached') throw inUse(record, await store.volumes.attachments([record.id]))
        if (outcome === 'changed') continue
        for (const each of outcome) reconciler.scheduleDestroy(each)
        return releaseDeleted(deps.directory, home)
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

// Returns null for lost data, which must not fail the list of the other volumes.
async function usedBytesOf(filesystem: CowFilesystem, subvolume: string): Promise<number | null> {
  try {
    return await filesystem.usedBytes(subvolume)
  } catch (error) {
    if (await filesystem.exists(subvolume)) throw error
    return null
  }
}

/** Returns null if the record has changed. */
async function updateVolume(
  { store, filesystem, clock, admission, defaults }: VolumesDeps,
  record: VolumeRecord,
  body: UpdateVolumeBody,
): Promise<VolumeRecord | null> {
  const sizeGb = body.size_gb === null ? defaults.volumeSizeGb : (body.size_gb ?? record.sizeGb)
  const tags = body.tags === null ? {} : (body.tags ?? record.tags)
  const next = bumped({ ...record, sizeGb, tags }, clock.now())
  const growth = sizeGb - record.sizeGb
  if (growth === 0 && JSON.stringify(tags) === JSON.stringify(record.tags)) return record
  const request = { project: record.project, storageGb: growth }
  await admission.check(request)
  let isStored = false
  try {
    if (growth !== 0)
      await resizeTree(filesystem, { name: record.subvolume, what: '`size_gb`: the data volume' }, sizeGb)
    isStored = await admission.admit(request, () => store.volumes.replace(next))
    return isStored ? next : null
  } catch (error) {
    // It may have been deleted or restored.
    if ((await findVolume(store, record)).subvolume !== record.subvolume) return null
    throw error
  } finally {
    // Reads the size again, since a commit that reported an error may have succeeded. If this fails as well, or is cut off, the next
    // start of the agent does it.
    const restored = isStored || growth === 0 ? null : matchQuota({ store, filesystem }, record, null)
    await restored?.catch(() => undefined)
  }
}

function inUse({ name }: VolumeRecord, attachments: readonly Attachment[]): ServiceError {
  const boxes = attachments.map(({ box }) => `"${box}"`).join(', ')
  return refusal('volume_in_use', [`The data volume "${name}" is attached to ${boxes}.`, 'Detach it first.'])
}
