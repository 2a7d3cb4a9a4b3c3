import type { Logger } from '../../../shared/log.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import { subvolumesOf } from './record.ts'
import { type RemovalDeps, removeSnapshot } from './removal.ts'

/** How many automatic snapshots of a box or volume are kept: the newest. */
export const AUTOMATIC_SNAPSHOTS_MAX = 3

/** Removes the automatic snapshots of a box or volume that are too many, after a restore has added one. */
export async function pruneAutomatic(deps: RemovalDeps, ownerId: string): Promise<void> {
  const snapshots = await deps.store.snapshots.of(ownerId)
  const surplus = snapshots.filter(({ automatic }) => automatic).slice(0, -AUTOMATIC_SNAPSHOTS_MAX)
  for (const snapshot of surplus) await removeSnapshot(deps, snapshot)
}

/** Finishes what restores that were cut off have left to do: what they replaced is read-only, and not too much of it is kept. */
export async function recoverAutomatic(
  deps: RemovalDeps & { filesystem: CowFilesystem; logger: Logger },
): Promise<void> {
  const { store, filesystem, logger } = deps
  const snapshots = (await store.snapshots.all()).filter(({ automatic }) => automatic)
  for (const ownerId of new Set(snapshots.map(({ owner }) => owner.id))) {
    try {
      await pruneAutomatic(deps, ownerId)
      // Those before the newest were done before it was made.
      const newest = snapshots.findLast(({ owner }) => owner.id === ownerId)
      const subvolumes = newest ? subvolumesOf(newest) : []
      for (const name of subvolumes) if (await filesystem.exists(name)) await filesystem.setReadOnly(name, true)
    } catch (error) {
      logger.error('what a restore has replaced could not be tidied up', { owner: ownerId, error })
    }
  }
}
