import type { SnapshotListQuery } from '../../../shared/schemas/snapshots.ts'
import type { SnapshotRecord } from '../../ports/store/snapshots.ts'
import type { Store } from '../../ports/store/store.ts'
import { decodeCursor, encodeCursor } from '../common/paging.ts'

/** A page of the snapshots of a box or data volume, oldest first. @throws ServiceError `invalid_request` */
export async function listSnapshots(
  store: Store,
  ownerId: string,
  { prefix = '', max_results: limit, continuation_token: token }: SnapshotListQuery,
): Promise<{ records: SnapshotRecord[]; next: string | null }> {
  const [after = null] = decodeCursor(token, 1) ?? []
  const { records, hasMore } = await store.snapshots.list({ ownerId, prefix, after, limit })
  const last = records.at(-1)
  return { records, next: hasMore && last ? encodeCursor([last.id]) : null }
}
