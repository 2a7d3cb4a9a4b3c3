import type { Store } from '../../ports/store/store.ts'
import type { Tombstone } from '../../ports/store/tombstones.ts'

/**
 * Destroys what was begun under `tombstones` and came to nothing. A commit that failed may be there all the same: then the
 * tombstones are not, and a record has the subvolumes. What cannot be told now is told by the next start of the service.
 */
export async function discardUncommitted(
  { store, reconciler }: { store: Store; reconciler: { scheduleDestroy(tombstone: Tombstone): void } },
  ...tombstones: readonly Tombstone[]
): Promise<void> {
  const all = await store.tombstones.all().catch((): Tombstone[] => [])
  const standing = new Set(all.map(({ id }) => id))
  for (const tombstone of tombstones) {
    if (standing.has(tombstone.id)) reconciler.scheduleDestroy(tombstone)
  }
}
