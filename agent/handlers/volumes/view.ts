import type { Volume } from '../../../shared/schemas/volumes.ts'
import { timestamp } from '../../../shared/time.ts'
import type { VolumeState } from '../../core/volumes/volumes.ts'
import type { BackupSchedule } from '../../ports/store/volumes.ts'

/** Returns the data volume in the form of the API. */
export function viewVolume({ record, usedBytes, attachments }: VolumeState): Volume {
  return {
    id: record.id,
    name: record.name,
    project: record.project,
    size_gb: record.sizeGb,
    used_bytes: usedBytes,
    created_at: timestamp(record.createdAt),
    updated_at: timestamp(record.updatedAt),
    attachments: attachments.map(({ box, path, readOnly }) => ({ box, path, read_only: readOnly })),
    from: record.from,
    backup_schedule: viewSchedule(record.backupSchedule),
    tags: record.tags,
  }
}

function viewSchedule(schedule: BackupSchedule | null): Volume['backup_schedule'] {
  if (schedule === null) return null
  const { intervalSeconds, keepCount, keepSeconds } = schedule
  return { interval_seconds: intervalSeconds, keep_count: keepCount, keep_seconds: keepSeconds }
}
