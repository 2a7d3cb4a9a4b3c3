/** Health of a pool, beyond its free space. Sizes in bytes. */
export interface PoolCondition {
  /** Space of the disk that is allocated to data and to metadata. */
  data: Allocation
  metadata: Allocation
  /** Errors of the pool's disk since the pool was created, or since the last scrub that found none. */
  deviceErrors: DeviceErrors
  /** True after a write to its disk failed: the kernel refuses writes until the last user has unmounted the pool and it is opened anew. */
  isReadOnly: boolean
  backing: PoolBacking
  /** The running scrub, else the last one; null if there was none. */
  scrub: Scrub | null
}

/** Space allocated to one use, and the used part of it. */
export interface Allocation {
  totalBytes: number
  /** As of the last commit. */
  usedBytes: number
  /** What was written since, and of data also what is still to be written. */
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
  /** `interrupted`: the agent ended meanwhile. `failed`: it could not be carried out. */
  status: 'running' | 'done' | 'failed' | 'interrupted'
  startedAt: number
  /** Null while it runs, or if the agent crashed meanwhile. */
  endedAt: number | null
  checkedBytes: number
  /** Number of errors found. */
  errors: number
}
