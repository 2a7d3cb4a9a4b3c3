/** How a pool does, beyond how full it is. Bytes. */
export interface PoolCondition {
  /** What is set aside of the disk for either, and how much of that is used. */
  data: { totalBytes: number; usedBytes: number }
  metadata: { totalBytes: number; usedBytes: number }
  /** Errors of the pool's disk since the pool was made, or since a scrub found nothing wrong. */
  deviceErrors: DeviceErrors
  /** Since a write to its disk failed nothing is written any more, until the pool is opened anew with nobody left in it. */
  isReadOnly: boolean
  backing: PoolBacking
  /** The scrub that is under way, else the last; null: there was none. */
  scrub: Scrub | null
}

/**
 * What the pool's image still lacks of its own blocks, which a copy made with holes does, and what the disk it lies on has for
 * them. A write to a block that the disk cannot give fails, as one to a broken disk does.
 */
export interface PoolBacking {
  missingBytes: number
  /** Of the disk, less what is kept free there. */
  availableBytes: number
}

export interface DeviceErrors {
  writes: number
  reads: number
  flushes: number
  /** Blocks whose checksum was wrong. */
  corruptions: number
  /** Blocks that were not the latest. */
  generations: number
}

/** A reading of everything that the pool holds, against its checksums. Times in ms since the epoch. */
export interface Scrub {
  /** `interrupted`: by the end of the agent. `failed`: it could not be carried out. */
  status: 'running' | 'done' | 'failed' | 'interrupted'
  startedAt: number
  /** Null while it is under way, and of one that was cut off without a word. */
  endedAt: number | null
  checkedBytes: number
  /** What was found to be wrong. */
  errors: number
}
