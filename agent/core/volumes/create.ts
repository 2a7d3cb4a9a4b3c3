import type { ServiceError } from '../../../shared/errors.ts'
import { newId } from '../../../shared/ids.ts'
import { OTHER_NAME, refusal } from '../../../shared/refusals.ts'
import type { CreateVolumeBody } from '../../../shared/schemas/volumes.ts'
import { invalidRequest } from '../../../shared/validate.ts'
import type { Directory } from '../../ports/fleet/directory.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { Store } from '../../ports/store/store.ts'
import type { VolumeRecord } from '../../ports/store/volumes.ts'
import type { Admission } from '../common/admission.ts'
import type { Caller } from '../common/caller.ts'
import { findVolume, type VolumeRef, volumeNotFound } from '../common/lookup.ts'
import { bytesOf, formatSizes } from '../common/sizes.ts'
import { claimWhile, discardClaimed, homeOf } from '../fleet/homes.ts'
import type { Reconciler } from '../reconcile/reconciler.ts'
import { findVolumeSnapshot } from '../snapshots/snapshots.ts'
import { copyTree } from '../snapshots/tree-copy.ts'

export interface CreateVolumeDeps {
  store: Store
  filesystem: CowFilesystem
  directory: Directory
  reconciler: Reconciler
  clock: Clock
  admission: Admission
  defaults: { volumeSizeGb: number }
}

/** A request for a volume. */
export interface NewVolume {
  project: string
  body: CreateVolumeBody
  idempotencyKey: string | null
  /** Replaces the origin in `body`. */
  origin?: VolumeOrigin
}

/** The source of a new volume's data. */
export interface VolumeOrigin {
  /** Source as the API writes it. Null for an empty volume. */
  from: string | null
  /** Size of the volume if the request has none. */
  sizeGb: number
  /**
   * Makes the subvolume of the new volume. `quotaBytes` limits later writes to it.
   * @throws ServiceError `volume_not_found`, `snapshot_not_found` if the source was deleted in the meantime
   */
  fill(subvolume: string, quotaBytes: number): Promise<void>
}

/**
 * Makes a volume, empty or a copy. A tombstone covers the subvolume until its record is written, and is dropped in that commit.
 * @throws ServiceError `name_taken`, `quota_exceeded`, and the errors of `findVolumeOrigin`
 */
export async function createVolume(deps: CreateVolumeDeps, caller: Caller, request: NewVolume): Promise<VolumeRecord> {
  const { store, clock, admission } = deps
  const { project, body, idempotencyKey } = request
  if (await store.volumes.get(project, body.name)) throw nameTaken({ project, name: body.name })
  const origin = request.origin ?? (await findVolumeOrigin(deps, project, body))
  const now = clock.now()
  const id = newId('vol', now)
  const record: VolumeRecord = {
    id,
    project,
    name: body.name,
    version: 1,
    createdAt: now,
    updatedAt: now,
    subvolume: id,
    sizeGb: body.size_gb ?? origin.sizeGb,
    from: origin.from,
    backupSchedule: null,
    tags: body.tags ?? {},
    createdBy: { token: caller.tokenId, idempotencyKey },
  }
  const resources = { project, volumes: 1, storageGb: record.sizeGb }
  await admission.check(resources)
  const tombstone = { id, root: id, createdAt: now, home: homeOf('volume', record) }
  await store.tombstones.insert(tombstone)
  try {
    const fill = (): Promise<void> => origin.fill(id, bytesOf(record.sizeGb))
    await claimWhile(deps.directory, { kind: 'volume', record }, fill)
    if (!(await admission.admit(resources, () => store.volumes.insert(record))))
      throw nameTaken({ project, name: body.name })
  } catch (error) {
    await discardClaimed(deps, tombstone, error)
    throw error
  }
  return record
}

/**
 * Finds the source that `body` names for a volume of `project`: none, another volume with its current data, or a snapshot.
 * @throws ServiceError `volume_not_found`, `snapshot_not_found`, `volume_too_small` if the size is smaller than the source and too small
 * for its data
 */
export async function findVolumeOrigin(
  deps: CreateVolumeDeps,
  project: string,
  body: CreateVolumeBody,
): Promise<VolumeOrigin> {
  const { from, from_snapshot: snapshot, size_gb: sizeGb } = body
  if (from !== undefined) {
    const source = await findVolume(deps.store, { project, name: from })
    return findCopyOrigin(deps, source, { snapshot, sizeGb: sizeGb ?? source.sizeGb })
  }
  if (snapshot === undefined) return emptyOrigin(deps, project)
  throw invalidRequest([{ pointer: '/from_snapshot', detail: 'needs `from`, the volume of the snapshot' }])
}

function emptyOrigin({ filesystem, defaults }: CreateVolumeDeps, project: string): VolumeOrigin {
  return {
    from: null,
    sizeGb: defaults.volumeSizeGb,
    fill: async (subvolume, quotaBytes) => {
      await filesystem.create(subvolume, project)
      await filesystem.setQuota(subvolume, quotaBytes)
    },
  }
}

async function findCopyOrigin(
  { store, filesystem }: CreateVolumeDeps,
  source: VolumeRecord,
  { snapshot, sizeGb }: { snapshot: string | undefined; sizeGb: number },
): Promise<VolumeOrigin> {
  const { project } = source
  const from = snapshot === undefined ? source.name : `${source.name}@${snapshot}`
  const find = async (): Promise<string> => {
    if (snapshot !== undefined) return (await findVolumeSnapshot(store, source, snapshot)).subvolume
    const record = await findVolume(store, source)
    if (record.id !== source.id) throw volumeNotFound(source)
    return record.subvolume
  }
  const subvolume = await find()
  // Measures only if the size shrinks, because measuring takes longer with more data, and a copy must not.
  const [usage] = sizeGb < source.sizeGb ? await filesystem.measure([subvolume], project) : []
  if (usage && usage.sizeBytes > bytesOf(sizeGb)) throw tooSmall(from, usage.sizeBytes, sizeGb)
  return {
    from,
    sizeGb: source.sizeGb,
    fill: (name, quotaBytes) => copyTree(filesystem, find, { name, project, isReadOnly: false, quotaBytes }),
  }
}

function tooSmall(from: string, sizeBytes: number, sizeGb: number): ServiceError {
  const sizes = formatSizes(sizeBytes, bytesOf(sizeGb))
  return refusal('volume_too_small', [
    `\`size_gb\`: "${from}" holds ${sizes.used}, ${sizes.asked} were asked for.`,
    'Ask for more.',
  ])
}

/** Returns the error for a volume whose name is taken. */
export function nameTaken({ project, name }: VolumeRef): ServiceError {
  return refusal('name_taken', [`Project "${project}" has a data volume named "${name}" already.`, OTHER_NAME])
}
