import { ServiceError } from '../../../shared/errors.ts'
import type { Store } from '../../ports/store/store.ts'

/** How many snapshots a box or volume may have, those made by restores included. */
export const SNAPSHOTS_MAX = 1000

/**
 * Refuses one more snapshot of a box or volume that has as many as it may.
 * @throws ServiceError `quota_exceeded`
 */
export async function checkSnapshotRoom(store: Store, owner: { id: string; name: string }): Promise<void> {
  const { length } = await store.snapshots.of(owner.id)
  if (length < SNAPSHOTS_MAX) return
  throw new ServiceError('quota_exceeded', `"${owner.name}" has ${length} snapshots, the most it can have.`)
}
