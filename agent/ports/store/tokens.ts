import type { FleetToken } from '../fleet/tokens.ts'

/** An access token as it is stored, without its secret. Times in ms since the epoch. */
export interface TokenRecord extends FleetToken {
  revokedAt: number | null
}

/** How many live tokens an account may have, or one token may have created. */
export interface TokenRoom {
  of: { root: string } | { createdBy: string }
  most: number
  /** Milliseconds since the epoch. */
  now: number
}

/** Access tokens of the deployment. */
export interface TokenStore {
  /** Stores a record. False if there is no room, which the same step checks. */
  insert(record: TokenRecord, room?: TokenRoom): Promise<boolean>
  /** Whether there is room for one more now. */
  hasRoom(room: TokenRoom): Promise<boolean>
  /**
   * Takes over records of the fleet in one step. Inserts missing tokens, and moves the expiry and key of the others that are not revoked.
   * `isTold` publishes events about new tokens.
   */
  mirror(tokens: readonly FleetToken[], options: { isTold: boolean }): Promise<void>
  get(id: string): Promise<TokenRecord | null>
  /**
   * Lists tokens, newest last. `createdBy` null matches any. `unexpiredAt` selects tokens that do not expire by then, including revoked
   * ones.
   */
  list(query: { createdBy: string | null; after: string | null; limit: number; unexpiredAt?: number }): Promise<{
    records: TokenRecord[]
    hasMore: boolean
  }>
  /** Returns the latest expiry of a token and all tokens created with it or in it. Null: never. */
  lastExpiry(id: string): Promise<number | null>
  /**
   * Revokes a token and, recursively, all tokens created with it or in it. Keeps the time of an earlier revocation. Returns how many it
   * ended. `isTold` (default: yes) publishes events about it.
   */
  revoke(id: string, revokedAt: number, options?: { isTold: boolean }): Promise<number>
  /** Notes the sign-out of a session, which revokes only that session. Returns how many it ended, 0 or 1. */
  signOut(id: string, signedOutAt: number, options: { isTold: boolean }): Promise<number>
  /** Notes that another key has re-signed the token. An unknown one is ignored. */
  setKey(id: string, keyId: string | null): Promise<void>
  /** Moves the end of a token that is not revoked. An unknown one is ignored. */
  setEnd(id: string, expiresAt: number): Promise<void>
  /** Deletes tokens that ended before `endedBefore`. */
  prune(endedBefore: number): Promise<void>
  /** Deletes the first ended tokens of the accounts that have most until `keep` ended ones are left. */
  bound(keep: number, now: number): Promise<void>
}
