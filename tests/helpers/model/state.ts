/** The expected boxes and volumes of one project, by name. Plain data, so structuredClone can copy it. */
export interface Model {
  boxes: Map<string, ModelBox>
  volumes: Map<string, ModelVolume>
  /** Number of volumes created so far, which is the id of the next one. */
  volumesMade: number
  /** Oldest first, including backups of deleted volumes. */
  backups: ModelBackup[]
  backupsMade: number
  /** The project's own bases, by name. */
  bases: Map<string, ModelBase>
  basesMade: number
}

export interface ModelBackup {
  key: number
  /** Name and id of the volume. */
  volume: string
  volumeId: number
  sizeGb: number
  tree: Tree
}

export interface ModelBase {
  /** Distinguishes successive bases with the same name. */
  id: number
  files: Map<string, string>
}

export interface ModelBox {
  status: 'running' | 'stopped'
  base: string
  /** Id of a project's base. Null for a shared base. */
  baseId: number | null
  forkOf: string | null
  config: { cpus: number; ram_mb: number; storage_gb: number }
  environment: Record<string, string>
  tags: Record<string, string>
  mounts: Mount[]
  /** Files of the root, by absolute path. */
  files: Map<string, string>
  /** Volumes that a process of the box uses. */
  sitsIn: string[]
  history: History
}

/** The content of a volume. */
export interface Tree {
  /** By path below the root. */
  files: Map<string, string>
  /** Mount points. `unknown` marks one that an interrupted step may have created. */
  directories: Map<string, 'there' | 'unknown'>
}

export interface ModelVolume extends Tree {
  /** Distinguishes successive volumes with the same name. */
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
  /** The highest number so far. -1 for none. */
  last: number
}

export interface ModelSnapshot {
  automatic: boolean
  /** Content of the root or of the volume. */
  tree: Tree
  data: SnapshotPart[]
}

/** A volume at the time of a snapshot of a box. */
export interface SnapshotPart extends Mount {
  volumeId: number
  tree: Tree
}

/** A data volume in a box, as in the API. */
export interface Mount {
  name: string
  path: string
  read_only: boolean
}
