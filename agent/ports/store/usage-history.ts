/** The usage of a box over an interval. All values are averages, except memory and disk of the finest step, which are taken at its end. */
export interface UsagePoint {
  boxId: string
  /** End of the interval, a multiple of the step in ms since the epoch. */
  at: number
  /** Cores. Null where the host does not count them. */
  cpuCores: number | null
  memoryBytes: number
  /** The part of it that the kernel can reclaim. */
  cacheBytes: number
  /** Null while a restore replaces its disk. */
  storageBytes: number | null
  receivedPerSecond: number
  sentPerSecond: number
}

/** Points of one step whose intervals end after `after`, and at `until` at the latest. In ms, as the step. */
export interface UsageQuery {
  stepMs: number
  after: number
  until: number
}

/**
 * The past usage of boxes. Resolved writes survive an exit of this process, but not always a crash of the host. Damaged history restarts
 * empty.
 */
export interface UsageHistory {
  /** Adds points of a step, in one commit. Replaces points that are there already. */
  append(stepMs: number, points: readonly UsagePoint[]): Promise<void>
  /** Makes points of step `toMs` that end at `at` from the points of step `fromMs`, in turns of the event loop. */
  condense(steps: { fromMs: number; toMs: number }, at: number): Promise<void>
  /** Returns the points of a box, oldest first. */
  read(boxId: string, query: UsageQuery): Promise<UsagePoint[]>
  /** Returns the latest end of an interval of a step. Null if there is none. */
  latest(stepMs: number): Promise<number | null>
  /** Drops points of a step outside of a query, few enough to take negligible time. Returns whether there are more. */
  prune(query: UsageQuery): Promise<boolean>
  /** Forgets all boxes but these. Their points go when they are old. */
  keep(boxIds: ReadonlySet<string>): Promise<void>
  close(): Promise<void>
}
