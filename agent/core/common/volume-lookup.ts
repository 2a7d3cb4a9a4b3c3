import { ServiceError } from '../../../shared/errors.ts'
import type { SnapshotRecord } from '../../ports/store/snapshots.ts'
import type { Store } from '../../ports/store/store.ts'
import type { VolumeRecord } from '../../ports/store/volumes.ts'

/** A volume by its path. */
export interface VolumeRef {
  project: string
  name: string
}

/** @throws ServiceError `volume_not_found` */
export async function findVolume(store: Store, ref: VolumeRef): Promise<VolumeRecord> {
  const record = await store.volumes.get(ref.project, ref.name)
  if (!record) throw volumeNotFound(ref)
  return record
}

/** @throws ServiceError `snapshot_not_found` */
export async function findVolumeSnapshot(
  store: Store,
  { id, name }: { id: string; name: string },
  snapshot: string,
): Promise<SnapshotRecord> {
  const record = await store.snapshots.get(id, snapshot)
  if (record) return record
  throw new ServiceError('snapshot_not_found', `The data volume "${name}" has no snapshot named "${snapshot}".`)
}

/** The error that tells of a volume that is not there. */
export function volumeNotFound({ project, name }: VolumeRef): ServiceError {
  return new ServiceError('volume_not_found', `No data volume named "${name}" in project "${project}".`)
}

/** The error that tells of a volume, named by the beginning of a sentence, that was deleted in the middle of something. */
export function volumeGone(what: string): ServiceError {
  return new ServiceError('volume_not_found', `${what} was deleted meanwhile.`)
}
