import type { EdgeGrant } from '../edge/edge.ts'

/** A grant with the token and project that it belongs to. Times in ms since the epoch. */
export interface EdgeGrantRecord extends EdgeGrant {
  /** The token that the credential is, or was issued for. The grant ends with it. */
  tokenId: string
  /** Project of the boxes that it gives access to. */
  project: string
  createdAt: number
}

/** A grant that expires before its token. */
export interface LapsingGrant extends EdgeGrantRecord {
  tokenEndsAt: number | null
}

/** Maximum number of grants, of one token and in total. The roots of token chains share the total. */
export interface EdgeGrantBounds {
  ofToken: number
  inAll: number
}

/**
 * Stores the grants of the edge over restarts, with hashes of credentials only. A grant is void if its token is revoked or gone,
 * or if its scope is a domain that now belongs to a box of another project.
 */
export interface EdgeGrantStore {
  /**
   * Inserts or renews a grant. Returns the credentials to remove for `bounds`, which stay until `remove`. These are the token's oldest, and
   * the oldest of the token chains with the most. Null if its token is revoked or gone.
   */
  put(record: EdgeGrantRecord, bounds: EdgeGrantBounds): Promise<string[] | null>
  /** Returns the grant if it is valid at `now`, else null. */
  find(key: Pick<EdgeGrant, 'credential' | 'scope'>, now: number): Promise<EdgeGrantRecord | null>
  /** Lists the grants that are valid at `now`. */
  live(now: number): Promise<EdgeGrantRecord[]>
  /** Lists the credentials with a grant that is not valid any more at `now`. */
  ended(now: number): Promise<string[]>
  /** Lists valid grants of tokens that expire by `before`, sooner than their token, with the end of that (null: none). */
  lapsing(now: number, before: number): Promise<LapsingGrant[]>
  /** Deletes grants that expired before `endedBefore`. */
  prune(endedBefore: number): Promise<void>
  /** Deletes the grants of credentials, in every scope. */
  remove(credentials: readonly string[]): Promise<void>
}
