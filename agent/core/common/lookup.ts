import { ServiceError } from '../../../shared/errors.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { Store } from '../../ports/store/store.ts'
import type { VolumeRecord } from '../../ports/store/volumes.ts'

/**
 * Reads the newest record of a box that existed a moment ago.
 * @throws ServiceError `box_not_found`
 */
export async function readBox(store: Store, box: { id: string; name?: string }): Promise<BoxRecord> {
  const record = await store.boxes.byId(box.id)
  if (!record) throw boxGone(box)
  return record
}

/** Returns the error for a box that was deleted in the middle of an operation. */
export function boxGone({ name }: { name?: string } = {}): ServiceError {
  const box = name === undefined ? 'The box' : `The box "${name}"`
  return new ServiceError('box_not_found', `${box} was deleted during the request.`)
}

/** The path of a volume. */
export interface VolumeRef {
  project: string
  name: string
}

/** Reads a volume by its path. @throws ServiceError `volume_not_found` */
export async function findVolume(store: Store, ref: VolumeRef): Promise<VolumeRecord> {
  const record = await store.volumes.get(ref.project, ref.name)
  if (!record) throw volumeNotFound(ref)
  return record
}

/** Returns the error for a volume that does not exist. */
export function volumeNotFound({ project, name }: VolumeRef): ServiceError {
  return new ServiceError('volume_not_found', `No data volume named "${name}" in project "${project}".`)
}

/** Returns the error for a volume that was deleted in the middle of an operation. `what` begins its sentence. */
export function volumeGone(what: string): ServiceError {
  return new ServiceError('volume_not_found', `${what} was deleted during the request.`)
}
