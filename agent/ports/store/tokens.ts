import type { Permission } from '../../../shared/schemas/access.ts'

/** An access token as it is stored, without its secret. Times in ms since the epoch. */
export interface TokenRecord {
  id: string
  /** The key that signed it; null in records of versions before 0.2. */
  keyId: string | null
  name: string
  projects: '*' | string[]
  permissions: Permission[]
  expiresAt: number | null
  createdAt: number
  createdBy: string | null
  /** The token at which its chain of minting begins: its own id, unless it shares the account of the one that minted it. */
  root: string
  revokedAt: number | null
}

/** How many live tokens an account may have, or one token may have minted. */
export interface TokenRoom {
  of: { root: string } | { createdBy: string }
  most: number
  /** Milliseconds since the epoch. */
  now: number
}

/** Access tokens of the deployment. */
export interface TokenStore {
  /** Stores a record. False, in the same step: there is no room for it. */
  insert(record: TokenRecord, room?: TokenRoom): Promise<boolean>
  get(id: string): Promise<TokenRecord | null>
  /** Lists tokens, newest last; `createdBy` null matches any. */
  list(query: { createdBy: string | null; after: string | null; limit: number }): Promise<{
    records: TokenRecord[]
    hasMore: boolean
  }>
  /** Revokes a token and, recursively, all that were minted with it; keeps the time of an earlier revocation. */
  revoke(id: string, revokedAt: number): Promise<void>
  /** Notes that another key has signed the token anew. An unknown one is ignored. */
  setKey(id: string, keyId: string | null): Promise<void>
  /** Moves the end of a token that is not revoked. An unknown one is ignored. */
  setEnd(id: string, expiresAt: number): Promise<void>
  /** Deletes tokens that ended before `endedBefore`. */
  prune(endedBefore: number): Promise<void>
  /** Deletes the first ended tokens of the accounts that have most until `keep` ended ones are left. */
  bound(keep: number, now: number): Promise<void>
}
