import { backupDirectory } from '../../../shared/backup-manifest.ts'
import type { Backup } from '../../../shared/schemas/backups.ts'
import { timestamp } from '../../../shared/time.ts'
import { backupNotFound, type KnownBackup } from '../../core/backups/backups.ts'
import type { StoredBackup } from '../../core/backups/catalog.ts'
import type { BackupRecord } from '../../ports/store/backups.ts'

/** Returns the backup in the form of the API. */
export function viewBackup(known: KnownBackup): Backup {
  return 'record' in known ? viewRecord(known.record) : viewStored(known.stored)
}

function viewRecord(record: BackupRecord): Backup {
  const { id, project, volumeId, volume, parts } = record
  return {
    id,
    project,
    volume,
    snapshot: record.subvolume,
    location: backupDirectory(project, volumeId, id),
    size_bytes: parts.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    size_gb: record.sizeGb,
    incremental_of: record.parent?.id ?? null,
    sha256: record.sha256,
    created_at: timestamp(record.createdAt),
    status: record.status,
    error: record.error,
    automatic: record.automatic,
  }
}

function viewStored({ id, project, directory, manifest, sha256 }: StoredBackup): Backup {
  if (manifest === null) throw backupNotFound(id)
  return {
    id,
    project,
    volume: manifest.volume.name,
    snapshot: null,
    location: directory,
    size_bytes: manifest.size_bytes,
    size_gb: manifest.volume.size_gb,
    incremental_of: manifest.incremental_of,
    sha256,
    created_at: timestamp(manifest.created_at),
    status: 'done',
    error: null,
    automatic: manifest.automatic,
  }
}
