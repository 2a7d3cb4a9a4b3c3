import type { BackupPart } from '../../../shared/backup-manifest.ts'
import type { Tombstone } from './tombstones.ts'

/** A backup that this deployment has made or is making. Times in ms since the epoch. */
export interface BackupRecord {
  id: string
  project: string
  volumeId: string
  /** The volume's name. */
  volume: string
  /** Size and use of the volume when it was backed up. */
  sizeGb: number
  usedBytes: number
  status: 'running' | 'done' | 'failed'
  createdAt: number
  endedAt: number | null
  /** Reason of a failure, as clients see it. */
  error: string | null
  /** Its read-only copy of the volume, kept after the end as the parent of the next increment. Null: released. */
  subvolume: string | null
  /** The backup that it is an increment of, and the copy of that one. Null: a full backup. */
  parent: { id: string; subvolume: string } | null
  /** Number of backups below it in its chain, which is 0 for a full one. */
  depth: number
  /** Its parts that are in the backup store. */
  parts: BackupPart[]
  /** SHA-256 of its manifest. Null until that is written. */
  sha256: string | null
  /** True once its manifest is signed. Manifests of earlier versions are signed later. */
  isSigned: boolean
  /** True if the volume's schedule made it. */
  automatic: boolean
  /** Id of the job that makes it. */
  operation: string | null
  /** When it was deleted for clients. Its data stays while other backups build on it. Null: not deleted. */
  deletedAt: number | null
  /** True once nothing of a failed backup is left in the backup store. */
  isCleared: boolean
  /** The creator: a create repeated after a crash finds its own backup by the key. */
  createdBy: { token: string; idempotencyKey: string | null }
}

/** Stores records of backups. Writes are unconditional, so the caller serializes the writes of one backup. */
export interface BackupRecords {
  /** Records a backup and drops the tombstone of its subvolume, in one commit. False if its volume is gone. */
  insert(record: BackupRecord): Promise<boolean>
  get(id: string): Promise<BackupRecord | null>
  /** Lists the backups of a volume, oldest first. */
  of(volumeId: string): Promise<BackupRecord[]>
  all(): Promise<BackupRecord[]>
  running(): Promise<BackupRecord[]>
  /**
   * Writes records, and `tombstones` of the copies that they release, in one commit. Also releases the copy of an ended backup whose
   * volume was deleted before that. Returns all tombstones.
   */
  write(records: readonly BackupRecord[], tombstones?: readonly Tombstone[]): Promise<Tombstone[]>
  remove(id: string): Promise<void>
}
