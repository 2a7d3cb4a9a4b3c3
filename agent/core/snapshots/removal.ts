import type { Clock } from '../../ports/host/clock.ts'
import type { SnapshotRecord } from '../../ports/store/snapshots.ts'
import type { Store } from '../../ports/store/store.ts'
import type { Tombstone } from '../../ports/store/tombstones.ts'
import { subvolumesOf } from './record.ts'

export interface RemovalDeps {
  store: Store
  reconciler: { scheduleDestroy(tombstone: Tombstone): void }
  clock: Clock
}

/** Removes a snapshot with all its subvolumes, whoever was made from it; false if it is gone already. */
export async function removeSnapshot(deps: RemovalDeps, snapshot: SnapshotRecord): Promise<boolean> {
  const createdAt = deps.clock.now()
  const tombstones = subvolumesOf(snapshot).map((root) => ({ id: root, root, createdAt }))
  if (!(await deps.store.snapshots.remove(snapshot.id, tombstones))) return false
  for (const tombstone of tombstones) deps.reconciler.scheduleDestroy(tombstone)
  return true
}
