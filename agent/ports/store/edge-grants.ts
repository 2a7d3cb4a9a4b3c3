import type { EdgeGrant } from '../edge/edge.ts'

/** A credential that passes at the edge, and what it stands for. Times in ms since the epoch. */
export interface EdgeGrantRecord extends EdgeGrant {
  /** The token that it is, or that was shown for it: it ends with that. */
  tokenId: string
  /** The project of the boxes that it opens. */
  project: string
  createdAt: number
}

/** The most grants of one token, and of all. */
export interface EdgeGrantBounds {
  ofToken: number
  inAll: number
}

/**
 * What passes at the edge, over restarts; of a credential only its hash. A grant whose token was revoked, or is gone, is none,
 * nor is one at a domain that went to a box of another project.
 */
export interface EdgeGrantStore {
  /**
   * Records a grant, or that it ends later. Null if its token was revoked or is gone; else the credentials that are too many
   * by it, the oldest, which stay until they are removed.
   */
  put(record: EdgeGrantRecord, bounds: EdgeGrantBounds): Promise<string[] | null>
  /** Null also for one that ended before `now`. */
  find(key: Pick<EdgeGrant, 'credential' | 'scope'>, now: number): Promise<EdgeGrantRecord | null>
  /** All that are good at `now`. */
  live(now: number): Promise<EdgeGrantRecord[]>
  /** Credentials of which a grant is good no more at `now`. */
  ended(now: number): Promise<string[]>
  /** Forgets what ended before `endedBefore` by its time, which passes nowhere. */
  prune(endedBefore: number): Promise<void>
  /** Forgets credentials in every scope. */
  remove(credentials: readonly string[]): Promise<void>
}
