import { ServiceError } from '../../../shared/errors.ts'
import type { SnapshotRecord } from '../../ports/store/snapshots.ts'
import type { BoxRecord, Store } from '../../ports/store/store.ts'

/**
 * The snapshot of a box by its name.
 * @throws ServiceError `snapshot_not_found`
 */
export async function findBoxSnapshot(
  store: Store,
  box: Pick<BoxRecord, 'id' | 'name'>,
  name: string,
): Promise<SnapshotRecord> {
  const record = await store.snapshots.get(box.id, name)
  if (record) return record
  throw snapshotNotFound(box, name)
}

/** The error that tells of a snapshot that is not there. */
export function snapshotNotFound(box: Pick<BoxRecord, 'name'>, name: string): ServiceError {
  return new ServiceError('snapshot_not_found', `The box "${box.name}" has no snapshot named "${name}".`)
}
