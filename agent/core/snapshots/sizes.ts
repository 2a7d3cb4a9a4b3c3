import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { SnapshotRecord } from '../../ports/store/snapshots.ts'
import type { Store } from '../../ports/store/store.ts'
import { subvolumesOf } from './record.ts'
import type { SnapshotState } from './view.ts'

/**
 * Counts what a snapshot refers to, with its data volumes, and what of that nothing else has. The former stays what it is, and
 * is recorded.
 */
export async function measureSnapshot(
  { store, filesystem }: { store: Store; filesystem: CowFilesystem },
  record: SnapshotRecord,
): Promise<SnapshotState> {
  const usages = await filesystem.measure(subvolumesOf(record))
  const known = usages.filter((usage) => usage !== null)
  // Data is missing from the pool: what of it was counted before is all that can be told.
  if (known.length < usages.length) return { record, uniqueBytes: null }
  const sizeBytes = known.reduce((sum, usage) => sum + usage.sizeBytes, 0)
  const uniqueBytes = known.reduce((sum, usage) => sum + usage.uniqueBytes, 0)
  if (record.sizeBytes === null) await store.snapshots.measure(record.id, sizeBytes)
  return { record: { ...record, sizeBytes: record.sizeBytes ?? sizeBytes }, uniqueBytes }
}
