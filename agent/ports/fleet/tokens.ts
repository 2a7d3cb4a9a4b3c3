import type { Permission } from '../../../shared/schemas/access.ts'

/** The record of an access token, as all cells of a fleet have it. Never the token itself. Times in ms since the epoch. */
export interface FleetToken {
  id: string
  /** The key that signed it. Null in records of versions before 0.2. */
  keyId: string | null
  name: string
  projects: '*' | string[]
  permissions: Permission[]
  expiresAt: number | null
  createdAt: number
  createdBy: string | null
  /** Id of the token at the root of its chain of creation. It is its own id, unless it shares the account of its creator. */
  root: string
  /** Number of the cell that created it, and that records its events. Absent: this one, before it joined a fleet. */
  cell?: string
  /** True: a session of the web console. It acts for `createdBy`, which owns the tokens created in it. Absent: not a session. */
  isSession?: true
  /**
   * The session in which `createdBy` created it. For a session, the session that it was started with. Absent: none. Revoking that session
   * also revokes this token, but signing out of it does not.
   */
  session?: string
  /** When a sign-out ended it, without its descendants. Absent: none did. */
  signedOutAt?: number
}

/** Records that a token is revoked, with all tokens created with it, or in it if it is a session. It is never taken back. */
export interface FleetRevocation {
  /** Id of the token. */
  token: string
  /** Milliseconds since the epoch. */
  revokedAt: number
  /** When the last of the revoked tokens expires anyway, in ms since the epoch. Null: never. */
  until: number | null
  /** Number of the cell that received the request, and that records its events. */
  cell: string | null
}

/** Tokens and revocations of a fleet, where all its cells see them. Errors of methods are ServiceErrors. */
export interface FleetTokens {
  /** Number of this cell. Null: this agent has no fleet. */
  readonly cell: string | null
  /** Publishes the record of a token. Succeeds if it is there. @throws ServiceError `runtime_unavailable` */
  publish(token: FleetToken): Promise<void>
  /**
   * Sets the expiry and key of a published token to the values of `token`, and notes its sign-out. Publishes the token if it is not
   * there.
   * @throws ServiceError `runtime_unavailable`
   */
  change(token: FleetToken): Promise<void>
  /** Publishes a revocation. Succeeds if there is one of that token. @throws ServiceError `runtime_unavailable` */
  revoke(revocation: FleetRevocation): Promise<void>
  /**
   * Reads a token and its own revocation from where they are kept. Null if there is no such token.
   * @throws ServiceError `runtime_unavailable`
   */
  read(id: string): Promise<{ token: FleetToken; revocation: FleetRevocation | null } | null>
  /**
   * Removes a token, but with `expiredBefore` (ms since the epoch) only one that has expired by then. Succeeds if there is none.
   * @throws ServiceError `runtime_unavailable`
   */
  removeToken(id: string, options: { expiredBefore: number | null }): Promise<void>
  /** Removes the revocation of a token. Succeeds if there is none. @throws ServiceError `runtime_unavailable` */
  removeRevocation(token: string): Promise<void>
  /**
   * Keeps both views up to date. Resolves once both have their first list, or cannot have it now and will get it later. Without a fleet
   * the views get nothing.
   */
  follow(views: { tokens: FleetView<FleetToken>; revocations: FleetView<FleetRevocation> }): Promise<void>
}

/** Receives the changes that the cells of a fleet send each other, one call at a time. A lost connection results in another full list. */
export interface FleetView<T> {
  /** Replaces its contents with the whole list, page by page. Fails if the pages fail, and then gets the list again. */
  replaceAll(pages: AsyncIterable<readonly T[]>): Promise<void>
  /** Takes one that was added or changed. */
  put(item: T): void
  /** Drops the one of a token's id that was removed. */
  drop(id: string): void
}
