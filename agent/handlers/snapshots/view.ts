import type { Snapshot } from '../../../shared/schemas/snapshots.ts'
import { timestamp } from '../../../shared/time.ts'
import type { SnapshotState } from '../../core/snapshots/snapshots.ts'

/** Returns the snapshot, of a box or of a data volume, in the form of the API. */
export function viewSnapshot({ record, uniqueBytes }: SnapshotState): Snapshot {
  const { owner } = record
  return {
    id: record.id,
    name: record.name,
    project: record.project,
    box: owner.kind === 'box' ? owner.name : null,
    volume: owner.kind === 'volume' ? owner.name : null,
    comment: record.comment,
    created_at: timestamp(record.createdAt),
    size_bytes: record.sizeBytes,
    unique_bytes: uniqueBytes,
    automatic: record.automatic,
    data: record.data.map(({ name, path, readOnly }) => ({ name, path, read_only: readOnly })),
  }
}
