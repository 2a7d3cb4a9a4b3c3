import type { Logger } from '../../../shared/log.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { NewSnapshot, SnapshotData, SnapshotRecord } from '../../ports/store/snapshots.ts'
import { newSnapshot, type RemovalDeps, removeSnapshot, type SnapshotOwner, subvolumesOf } from './snapshots.ts'

/** Automatic snapshots of a box or volume that are kept: the newest. */
export const AUTOMATIC_SNAPSHOTS_MAX = 3

/** Returns the record that keeps the tree replaced by a restore to `snapshot`. `subvolume` is the one the owner had. */
export function automaticSnapshot(
  kind: SnapshotRecord['owner']['kind'],
  owner: SnapshotOwner,
  replaced: { subvolume: string; data: SnapshotData[]; snapshot: string; token: string; now: number },
): NewSnapshot {
  const { subvolume, data, snapshot, token, now } = replaced
  const body = { comment: `Before the restore of "${snapshot}".` }
  const record = newSnapshot(kind, owner, { body, createdBy: { token, idempotencyKey: null }, now })
  return { ...record, subvolume, data, automatic: true }
}

/** Removes the oldest automatic snapshots of a box or volume beyond `AUTOMATIC_SNAPSHOTS_MAX`, after a restore has added one. */
export async function pruneAutomatic(deps: RemovalDeps, ownerId: string): Promise<void> {
  const snapshots = await deps.store.snapshots.of(ownerId)
  const surplus = snapshots.filter(({ automatic }) => automatic).slice(0, -AUTOMATIC_SNAPSHOTS_MAX)
  for (const snapshot of surplus) await removeSnapshot(deps, snapshot)
}

/** Finishes restores that were cut off after their commit: makes the replaced subvolumes read-only, and prunes them. */
export async function recoverAutomatic(
  deps: RemovalDeps & { filesystem: CowFilesystem; logger: Logger },
): Promise<void> {
  const { store, filesystem, logger } = deps
  const snapshots = (await store.snapshots.all()).filter(({ automatic }) => automatic)
  for (const ownerId of new Set(snapshots.map(({ owner }) => owner.id))) {
    try {
      await pruneAutomatic(deps, ownerId)
      // Only the newest can be unfinished, because the others were finished before it was made.
      const newest = snapshots.findLast(({ owner }) => owner.id === ownerId)
      const subvolumes = newest ? subvolumesOf(newest) : []
      for (const name of subvolumes) if (await filesystem.exists(name)) await filesystem.setReadOnly(name, true)
    } catch (error) {
      logger.error('failed to prune snapshots of replaced data', { owner: ownerId, error })
    }
  }
}
