/** What a service should hold: boxes and volumes of one project by name. Plain data, which structuredClone copies. */
export interface Model {
  boxes: Map<string, ModelBox>
  volumes: Map<string, ModelVolume>
}

export interface ModelBox {
  status: 'running' | 'stopped'
  base: string
  forkOf: string | null
  config: { cpus: number; ram_mb: number; storage_gb: number }
  environment: Record<string, string>
  tags: Record<string, string>
  mounts: Mount[]
  /** Of its root, by absolute path. */
  files: Map<string, string>
  /** Volumes in which a process of it sits. */
  sitsIn: string[]
}

export interface ModelVolume {
  sizeGb: number
  tags: Record<string, string>
  /** By the path below its root. */
  files: Map<string, string>
  /** Directories to mount on; those that a cut off step may have made are unknown. */
  directories: Map<string, 'there' | 'unknown'>
}

/** A data volume in a box, as the API tells it. */
export interface Mount {
  name: string
  path: string
  read_only: boolean
}
