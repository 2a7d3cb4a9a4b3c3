/** How much of the network and the disk a box may have. Null: unlimited. */
export interface BoxShares extends DiskBounds {
  /** Mbit/s that it may send, and as many that it may receive. */
  networkMbps: number | null
}

/** Shared limits for a box's disk reads and writes. Null: unlimited. */
export interface DiskBounds {
  /** Megabytes (10^6 bytes) a second. */
  diskMbps: number | null
  /** Operations a second. */
  diskIops: number | null
}

/** Limits of a box that may change while it runs. */
export interface BoxLimits extends BoxShares {
  /** Cores, may be fractional. */
  cpus: number
  ramMb: number
  /** MiB of /dev/shm, which count as memory of the box. */
  shmMb: number
}
