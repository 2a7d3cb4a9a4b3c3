import type { Tombstone } from './tombstones.ts'

/** A data volume as it is stored. Times in ms since the epoch. */
export interface VolumeRecord {
  id: string
  project: string
  name: string
  /** Raised by one at every write, and when a box gets or loses the volume. It is the ETag. */
  version: number
  createdAt: number
  updatedAt: number
  /** The subvolume that holds its data. */
  subvolume: string
  sizeGb: number
  /** Its source, as the API shows it. Null: made empty. */
  from: string | null
  /** Null: backed up on request only. */
  backupSchedule: BackupSchedule | null
  tags: Record<string, string>
  /** The creator: a create repeated after a crash finds its own volume by the key. */
  createdBy: { token: string; idempotencyKey: string | null }
}

/** A backup every so often. At most `keepCount` older ones stay, and none longer than `keepSeconds`. */
export interface BackupSchedule {
  intervalSeconds: number
  keepCount: number | null
  keepSeconds: number | null
}

/** The attachment of a volume to a box. */
export interface Attachment {
  volumeId: string
  boxId: string
  /** The name of the box. */
  box: string
  path: string
  readOnly: boolean
}

/** A page of a list ordered by project and name. `projects` `*` matches all. `after` is the last key of the previous page. */
export interface NamedQuery {
  projects: readonly string[] | '*'
  prefix: string
  /** A value of null matches any value. */
  tags: readonly (readonly [key: string, value: string | null])[]
  after: { project: string; name: string } | null
  limit: number
}

export interface VolumeStore {
  /** Records a volume and drops the tombstone of its id, in one commit. False if the project has one of that name. */
  insert(record: VolumeRecord): Promise<boolean>
  get(project: string, name: string): Promise<VolumeRecord | null>
  /** Compare-and-set: false if the stored version is not `record.version - 1`, or the volume is gone. */
  replace(record: VolumeRecord): Promise<boolean>
  /**
   * Removes the record and writes `tombstone`, and tombstones of its snapshots and of the copies that its backups keep, in one commit.
   * Returns all tombstones. Returns `changed` if the stored version differs, `attached` if a box has it.
   */
  remove(id: string, version: number, tombstone: Tombstone): Promise<Tombstone[] | 'changed' | 'attached'>
  list(query: NamedQuery): Promise<{ records: VolumeRecord[]; hasMore: boolean }>
  all(): Promise<VolumeRecord[]>
  /** Lists the attachments of these volumes, ordered by the name of the box. */
  attachments(volumeIds: readonly string[]): Promise<Attachment[]>
}

/** Bounds of a project. Null is unlimited. */
export interface QuotaRecord {
  /** Raised by one at every write, and used as the ETag. */
  version: number
  boxes: number | null
  cpus: number | null
  ramMb: number | null
  storageGb: number | null
  updatedAt: number
}

/** The sums over the records of a project, or of all. */
export interface Usage {
  boxes: number
  volumes: number
  /** CPUs and memory of the boxes whose desired power is `running`. */
  cpus: number
  ramMb: number
  /** Storage of all boxes and volumes. */
  storageGb: number
}

/** A page of projects that have something, ordered by name. `after` is the last name of the previous page. */
export interface ProjectQuery {
  projects: readonly string[] | '*'
  prefix: string
  after: string | null
  limit: number
}

/** A project that has a box, a volume, a base made here, a backup or a quota. */
export interface ProjectUse {
  project: string
  /** Null: it was never set. */
  quota: QuotaRecord | null
  used: Usage
  /** Boxes by their observed status. */
  boxes: { running: number; stopped: number; other: number }
}

/** Bytes used by the records of boxes and services. */
export interface RecordUsage {
  /** Bytes of one project. */
  own: number
  all: number
}

export interface QuotaStore {
  get(project: string): Promise<QuotaRecord | null>
  set(project: string, record: QuotaRecord): Promise<void>
  /** Lists projects that have something. Failed backups do not count. */
  list(query: ProjectQuery): Promise<{ records: ProjectUse[]; hasMore: boolean }>
  /** Sums the records of a project. Null: of the whole deployment. */
  usage(project: string | null): Promise<Usage>
  /**
   * Returns the exact size of the records of boxes and services, as JSON in UTF-8. The definition of a service whose active version has
   * none, or a shorter one, counts for it as well, because its next start copies it.
   */
  recordBytes(project: string): Promise<RecordUsage>
}
