import { ServiceError } from '../../../shared/errors.ts'
import type { CreateVolumeBody } from '../../../shared/schemas/volumes.ts'
import { invalidRequest } from '../../../shared/validate.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { Store } from '../../ports/store/store.ts'
import type { VolumeRecord } from '../../ports/store/volumes.ts'
import { bytesOf } from '../common/sizes.ts'
import { findVolume, findVolumeSnapshot, volumeNotFound } from '../common/volume-lookup.ts'
import { copyTree } from '../snapshots/tree-copy.ts'

export interface OriginDeps {
  store: Store
  filesystem: CowFilesystem
  defaults: { volumeSizeGb: number }
}

/** What a new volume holds at first. */
export interface VolumeOrigin {
  /** As people read it; null: nothing. */
  from: string | null
  /** The size where nobody says one. */
  sizeGb: number
  /**
   * Makes the subvolume of the new volume; `quotaBytes` bounds what is written to it from then on.
   * @throws ServiceError `volume_not_found`, `snapshot_not_found` for what was deleted meanwhile
   */
  fill(subvolume: string, quotaBytes: number): Promise<void>
}

/**
 * What `body` wants a volume of `project` to be made from: nothing, another volume as it is now, or a snapshot of one.
 * @throws ServiceError `volume_not_found`, `snapshot_not_found`; `volume_too_small` for a size, below that of the source, that
 * does not hold what is there
 */
export async function findVolumeOrigin(
  deps: OriginDeps,
  project: string,
  body: CreateVolumeBody,
): Promise<VolumeOrigin> {
  const { from, from_snapshot: snapshot, size_gb: sizeGb } = body
  if (from !== undefined) {
    const source = await findVolume(deps.store, { project, name: from })
    return findCopyOrigin(deps, source, { snapshot, sizeGb: sizeGb ?? source.sizeGb })
  }
  if (snapshot === undefined) return emptyOrigin(deps)
  throw invalidRequest([
    { pointer: '/from_snapshot', detail: 'names a snapshot of the volume in `from`, which is missing' },
  ])
}

function emptyOrigin({ filesystem, defaults }: OriginDeps): VolumeOrigin {
  return {
    from: null,
    sizeGb: defaults.volumeSizeGb,
    fill: async (subvolume, quotaBytes) => {
      await filesystem.create(subvolume)
      await filesystem.setQuota(subvolume, quotaBytes)
    },
  }
}

async function findCopyOrigin(
  { store, filesystem }: OriginDeps,
  source: VolumeRecord,
  { snapshot, sizeGb }: { snapshot: string | undefined; sizeGb: number },
): Promise<VolumeOrigin> {
  const from = snapshot === undefined ? source.name : `${source.name}@${snapshot}`
  const find = async (): Promise<string> => {
    if (snapshot !== undefined) return (await findVolumeSnapshot(store, source, snapshot)).subvolume
    const record = await findVolume(store, source)
    if (record.id !== source.id) throw volumeNotFound(source)
    return record.subvolume
  }
  const subvolume = await find()
  // To count it takes longer the more it is, which a copy must not.
  const [usage] = sizeGb < source.sizeGb ? await filesystem.measure([subvolume]) : []
  if (usage && usage.sizeBytes > bytesOf(sizeGb)) throw tooSmall(from, usage.sizeBytes, sizeGb)
  return {
    from,
    sizeGb: source.sizeGb,
    fill: (name, quotaBytes) => copyTree(filesystem, find, { name, isReadOnly: false, quotaBytes }),
  }
}

function tooSmall(from: string, sizeBytes: number, sizeGb: number): ServiceError {
  const [held, wanted] = [sizeBytes, bytesOf(sizeGb)].map((bytes) => Math.ceil(bytes / 1024 ** 2))
  return new ServiceError('volume_too_small', `"${from}" holds ${held} MiB, ${wanted} MiB were asked for.`)
}
