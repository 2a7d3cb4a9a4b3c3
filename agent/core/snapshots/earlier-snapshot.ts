import type { CreateSnapshotBody } from '../../../shared/schemas/snapshots.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { SnapshotRecord } from '../../ports/store/snapshots.ts'
import type { Store } from '../../ports/store/store.ts'
import type { Caller } from '../common/caller.ts'

interface EarlierDeps {
  store: Store
  clock: Clock
  limits: { idempotencyKeepMs: number }
}

/**
 * The snapshot that the same request made before an answer was lost. Without a name there is only the Idempotency-Key to
 * know it by, which means what it did for as long as it is kept (docs/api.md#idempotency).
 */
export async function findEarlierSnapshot(
  { store, clock, limits }: EarlierDeps,
  owner: { id: string },
  { caller, body, idempotencyKey }: { caller: Caller; body: CreateSnapshotBody; idempotencyKey: string | null },
): Promise<SnapshotRecord | null> {
  if (idempotencyKey === null) return null
  const keptSince = clock.now() - limits.idempotencyKeepMs
  const isOwn = ({ name, createdAt, createdBy }: SnapshotRecord): boolean =>
    createdBy.token === caller.tokenId &&
    createdBy.idempotencyKey === idempotencyKey &&
    name === (body.name ?? name) &&
    createdAt > keptSince
  return (await store.snapshots.of(owner.id)).find(isOwn) ?? null
}
