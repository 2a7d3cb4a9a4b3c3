import type { BackupPart } from '../../../shared/backup-manifest.ts'
import type { Tombstone } from './tombstones.ts'

/** A backup that this deployment made, or makes. Times in ms since the epoch. */
export interface BackupRecord {
  id: string
  project: string
  volumeId: string
  /** The volume's name. */
  volume: string
  /** What the volume was when it was backed up. */
  sizeGb: number
  usedBytes: number
  status: 'running' | 'done' | 'failed'
  createdAt: number
  endedAt: number | null
  /** Why it failed, as clients read it. */
  error: string | null
  /** Its read-only copy of the volume: while it runs, and afterwards as the parent of the next one; null: given up. */
  subvolume: string | null
  /** The backup that it builds on, and that one's copy; null: a full one. */
  parent: { id: string; subvolume: string } | null
  /** How many backups it builds on. */
  depth: number
  /** What of it is in the store. */
  parts: BackupPart[]
  /** Of its manifest; null: not written yet. */
  sha256: string | null
  /** Whether the volume's schedule made it. */
  automatic: boolean
  /** The job that makes it. */
  operation: string | null
  /** Since when it is gone for clients, though others may still build on it. */
  deletedAt: number | null
  /** Of one that failed: whether nothing of it is left in the store. */
  isCleared: boolean
  /** Who made it: a create repeated after a crash finds its own backup by the key. */
  createdBy: { token: string; idempotencyKey: string | null }
}

/** The records of backups; each is written by one at a time. */
export interface BackupRecords {
  /** Records a backup and drops the tombstone of its subvolume, in one commit; false if its volume is gone. */
  insert(record: BackupRecord): Promise<boolean>
  get(id: string): Promise<BackupRecord | null>
  /** All of a volume, oldest first. */
  of(volumeId: string): Promise<BackupRecord[]>
  all(): Promise<BackupRecord[]>
  running(): Promise<BackupRecord[]>
  /**
   * Writes records as they are now, with the tombstones of what they gave up, in one commit. The copy of a volume that was deleted
   * meanwhile is given up too: gives all tombstones.
   */
  write(records: readonly BackupRecord[], tombstones?: readonly Tombstone[]): Promise<Tombstone[]>
  remove(id: string): Promise<void>
}
