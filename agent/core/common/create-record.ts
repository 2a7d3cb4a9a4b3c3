import type { Store } from '../../ports/store/store.ts'
import type { Tombstone } from '../../ports/store/tombstones.ts'
import type { Caller } from './caller.ts'

interface Created {
  createdBy: { token: string; idempotencyKey: string | null }
}

/**
 * Finds the resource that the same create made before its answer was lost in a crash of the agent. Null if there is none. Calls
 * `find`, which looks the name up, only for a request with an Idempotency-Key.
 */
export async function findByIdempotencyKey<T extends Created>(
  find: () => Promise<T | null>,
  caller: Caller,
  idempotencyKey: string | null,
): Promise<T | null> {
  if (idempotencyKey === null) return null
  const record = await find()
  const isOwn = record?.createdBy.token === caller.tokenId && record.createdBy.idempotencyKey === idempotencyKey
  return isOwn ? record : null
}

/**
 * Destroys the subvolumes that a failed create or restore began under `tombstones`. A commit that reported an error may have succeeded.
 * Then its tombstones are gone, and a record has the subvolumes. If the store cannot be read, leaves them to the next start of the agent.
 * Returns the tombstones of what is destroyed.
 */
export async function discardUncommitted(
  { store, reconciler }: { store: Store; reconciler: { scheduleDestroy(tombstone: Tombstone): void } },
  ...tombstones: readonly Tombstone[]
): Promise<Tombstone[]> {
  const all = await store.tombstones.all().catch((): Tombstone[] => [])
  const remaining = new Set(all.map(({ id }) => id))
  const left = tombstones.filter(({ id }) => remaining.has(id))
  for (const tombstone of left) reconciler.scheduleDestroy(tombstone)
  return left
}
