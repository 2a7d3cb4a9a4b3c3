/** Health of a pool, beyond its free space. Sizes in bytes. */
export interface PoolCondition {
  /** Space of the disk that is allocated to data and to metadata. */
  data: Allocation
  metadata: Allocation
  /** Errors of the pool's disk since the pool was created, or since the last scrub that found none. */
  deviceErrors: DeviceErrors
  /**
   * True after a write to its disk failed. The kernel then refuses writes until the last user has unmounted the pool and it is reopened.
   */
  isReadOnly: boolean
  backing: PoolBacking
  /** The running scrub, else the last one. Null if there was none. */
  scrub: Scrub | null
}

/** Space allocated to one use, and the used part of it. */
export interface Allocation {
  totalBytes: number
  /** As of the last commit. */
  usedBytes: number
  /** Bytes written since, including data that is not yet on the disk. */
  pendingBytes: number
}

/**
 * Missing blocks of the pool's image, as after a copy with holes, and the space that its disk has for them. A write to a block that
 * the disk cannot allocate fails like one to a broken disk.
 */
export interface PoolBacking {
  missingBytes: number
  /** Free space of the disk above the reserve. */
  availableBytes: number
}

export interface DeviceErrors {
  writes: number
  reads: number
  flushes: number
  /** Blocks with a wrong checksum. */
  corruptions: number
  /** Blocks with an older content than the latest written. */
  generations: number
}

/** A scrub, which reads everything in the pool and verifies its checksums. Times in ms since the epoch. */
export interface Scrub {
  /** `interrupted`: the agent exited during it. `failed`: it could not run. */
  status: 'running' | 'done' | 'failed' | 'interrupted'
  startedAt: number
  /** Null while it runs, or if the agent crashed during it. */
  endedAt: number | null
  checkedBytes: number
  /** Number of errors found. */
  errors: number
}
