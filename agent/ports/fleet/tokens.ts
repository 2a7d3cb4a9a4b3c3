import type { Permission } from '../../../shared/schemas/access.ts'

/** The record of an access token, as all cells of a fleet have it; never the token itself. Times in ms since the epoch. */
export interface FleetToken {
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
  /** Number of the cell that minted it, whose events tell of it; absent: this one, before it was one of a fleet. */
  cell?: string
  /** True: a session of the web console. It stands for `createdBy`, which is what mints in it. Absent: it is none. */
  isSession?: true
  /**
   * The session in which `createdBy` minted it, or that a session was begun with; absent: none. It is revoked with that, though not by
   * its sign-out.
   */
  session?: string
  /** When a sign-out ended it, and it alone; absent: none did. */
  signedOutAt?: number
}

/** Says that a token is revoked, and with it all that were minted with it, or in it if it is a session. It is not taken back. */
export interface FleetRevocation {
  /** Id of the token. */
  token: string
  /** Milliseconds since the epoch. */
  revokedAt: number
  /** When the last of the revoked tokens expires by itself, in ms since the epoch; null: never. */
  until: number | null
  /** Number of the cell that was asked for it, whose events tell of it. */
  cell: string | null
}

/** Tokens and revocations of a fleet, where all its cells see them. Errors of methods are ServiceErrors. */
export interface FleetTokens {
  /** Number of this cell; null: this agent has no fleet. */
  readonly cell: string | null
  /** Publishes the record of a token; succeeds if it is there. @throws ServiceError `runtime_unavailable` */
  publish(token: FleetToken): Promise<void>
  /**
   * Moves end and key of a published token to those of `token`, and notes its sign-out. It is published if it is not there.
   * @throws ServiceError `runtime_unavailable`
   */
  change(token: FleetToken): Promise<void>
  /** Publishes a revocation; succeeds if there is one of that token. @throws ServiceError `runtime_unavailable` */
  revoke(revocation: FleetRevocation): Promise<void>
  /**
   * Reads a token and its own revocation from where they are kept; null if there is no such token.
   * @throws ServiceError `runtime_unavailable`
   */
  read(id: string): Promise<{ token: FleetToken; revocation: FleetRevocation | null } | null>
  /**
   * Removes a token, but with `expiredBefore` (ms since the epoch) only one that has expired by then. Succeeds if there is none.
   * @throws ServiceError `runtime_unavailable`
   */
  removeToken(id: string, options: { expiredBefore: number | null }): Promise<void>
  /** Removes the revocation of a token; succeeds if there is none. @throws ServiceError `runtime_unavailable` */
  removeRevocation(token: string): Promise<void>
  /**
   * Keeps both views in step, from now on. Resolves once both have taken their first list, or cannot have it now: it then follows.
   * Without a fleet the views get nothing.
   */
  follow(views: { tokens: FleetView<FleetToken>; revocations: FleetView<FleetRevocation> }): Promise<void>
}

/** Where what the cells of a fleet tell each other arrives, one call at a time. A lost connection ends in another whole list. */
export interface FleetView<T> {
  /** Takes all there is, page by page, in the place of what it has. Fails if the pages do; the list is then sent again. */
  replaceAll(pages: AsyncIterable<readonly T[]>): Promise<void>
  /** Takes one that was added or changed. */
  put(item: T): void
  /** Drops the one of a token's id that was removed. */
  drop(id: string): void
}
