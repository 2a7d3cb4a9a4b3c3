/** What a service should hold: boxes and volumes of one project by name. Plain data, which structuredClone copies. */
export interface Model {
  boxes: Map<string, ModelBox>
  volumes: Map<string, ModelVolume>
  /** How many volumes there ever were: the next one's identity. */
  volumesMade: number
  /** Oldest first, also of volumes that are gone. */
  backups: ModelBackup[]
  backupsMade: number
  /** The project's own, by name. */
  bases: Map<string, ModelBase>
  basesMade: number
}

export interface ModelBackup {
  key: number
  /** The name of its volume, and that one's identity. */
  volume: string
  volumeId: number
  sizeGb: number
  tree: Tree
}

export interface ModelBase {
  /** One that is made again under a name is another. */
  id: number
  files: Map<string, string>
}

export interface ModelBox {
  status: 'running' | 'stopped'
  base: string
  /** The identity of a base of the project; null: of one that all share. */
  baseId: number | null
  forkOf: string | null
  config: { cpus: number; ram_mb: number; storage_gb: number }
  environment: Record<string, string>
  tags: Record<string, string>
  mounts: Mount[]
  /** Of its root, by absolute path. */
  files: Map<string, string>
  /** Volumes in which a process of it sits. */
  sitsIn: string[]
  history: History
}

/** What a volume holds. */
export interface Tree {
  /** By the path below its root. */
  files: Map<string, string>
  /** Directories to mount on; those that a cut off step may have made are unknown. */
  directories: Map<string, 'there' | 'unknown'>
}

export interface ModelVolume extends Tree {
  /** One that is made again under a name is another. */
  id: number
  from: string | null
  sizeGb: number
  tags: Record<string, string>
  history: History
}

/** The snapshots of a box or volume. */
export interface History {
  /** By name, oldest first. */
  snapshots: Map<string, ModelSnapshot>
  /** The highest number that was ever given; -1 for none. */
  last: number
}

export interface ModelSnapshot {
  automatic: boolean
  /** Of the root, or of the volume. */
  tree: Tree
  data: SnapshotPart[]
}

/** A volume at the instant of a snapshot of a box. */
export interface SnapshotPart extends Mount {
  volumeId: number
  tree: Tree
}

/** A data volume in a box, as the API tells it. */
export interface Mount {
  name: string
  path: string
  read_only: boolean
}
