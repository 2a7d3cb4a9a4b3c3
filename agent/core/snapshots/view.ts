import type { Snapshot } from '../../../shared/schemas/snapshots.ts'
import type { SnapshotRecord } from '../../ports/store/snapshots.ts'
import { timestamp } from '../common/time.ts'

/** A snapshot with what is not in its record. */
export interface SnapshotState {
  record: SnapshotRecord
  /** Bytes that only it refers to; null where they were not counted, or its data is missing from the pool. */
  uniqueBytes: number | null
}

/** The snapshot of the API, of a box or of a data volume. */
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

/** The version of every snapshot: nothing of one changes. */
export const SNAPSHOT_VERSION = 1
