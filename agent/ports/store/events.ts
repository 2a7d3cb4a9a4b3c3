/** The token and the request that caused a change. */
export interface Actor {
  tokenId: string
  tokenName: string
  requestId: string
  /** The accounts of the request that share bounded resources. */
  accounts?: readonly string[]
  /** Absent: work after a wait runs at once. */
  inTurn?: InTurn
}

/** Runs work of a request in a turn of its account, also when it resumes after a wait. */
export type InTurn = <T>(work: (later: LaterPart) => Promise<T>) => Promise<T>

/** Runs a synchronous part of a request, and charges the account for it if the request has waited before. */
export type LaterPart = <T>(part: () => T) => T

/** Carries the actor of a request through the asynchronous work that it starts. */
export interface ActorContext {
  /** Returns the actor of the running work. Null for work of the service itself. */
  current(): Actor | null
  /** Runs `work`, and everything it starts, on behalf of `cause`. */
  run<T>(cause: Actor, work: () => T): T
}

/** A change of a resource, written in the commit that makes it. Contains no secrets and no values of an environment. */
export interface EventRecord {
  id: string
  /** Milliseconds since the epoch. */
  at: number
  /** Dotted, such as `box.created`. */
  type: string
  /** Null: of a resource that all projects share, or of the deployment. */
  project: string | null
  /** API path of the resource. */
  resource: string
  /** Null: the service itself. */
  actor: { id: string; name: string } | null
  requestId: string | null
  data: Record<string, unknown>
}

/** Selects events by audience. An audience is a project, the resources that all projects share, or the deployment's admins. */
export interface EventScope {
  projects: readonly string[] | '*'
  shared: boolean
  admin: boolean
}

export interface EventQuery {
  scope: EventScope
  /** Types, or prefixes that end in a dot, such as `box.`. Empty: any. */
  types: readonly string[]
  /** Number of the last event that was read. */
  after: number
  limit: number
}

/** An event with its number in the cell that wrote it. */
export interface NumberedEvent {
  number: number
  /** Its audience, as `EventStore.selects` knows it. */
  audience: string
  record: EventRecord
}

/** A page of events by number, without a gap except for events that the query filters out. */
export interface EventPage {
  events: NumberedEvent[]
  /** Number up to which events were scanned: `after` of the next page. */
  through: number
  /** True if there are later events, which may match or not. */
  hasMore: boolean
}

/** Stores events, numbered in commit order from 1 without gaps. Numbers are never reused. */
export interface EventStore {
  /**
   * Returns the number from which no event of the scope was pruned, and the number of its newest event ever. Without a scope, counts all
   * events. The oldest is newest + 1 if none is kept.
   */
  bounds(scope?: EventScope): Promise<{ oldest: number; newest: number }>
  /** Returns the number after which events from `at` on come, in ms since the epoch. It is exact unless the clock was set back. */
  lastBefore(at: number): Promise<number>
  /** Tests whether a query selects events of an audience and type. */
  selects(query: Pick<EventQuery, 'scope' | 'types'>, event: { audience: string; type: string }): boolean
  /** Scans a few hundred events, only of the scope, so that a page may be empty although more follow. */
  read(query: EventQuery): Promise<EventPage>
  /** Deletes events from before `before`, and the oldest of the audiences that have most until `keep` are left. */
  prune(before: number, keep: number): Promise<void>
  /**
   * Calls `listener` soon after this process wrote events, with a predicate of the scopes that some of them are in. Returns a function
   * that removes it.
   */
  onCommit(listener: CommitListener): () => void
}

/** Receives a predicate of the scopes that have new events. */
export type CommitListener = (isOf: (scope: EventScope) => boolean) => void

/** A mutation or a refused request, with its outcome. Contains no secrets. */
export interface AuditRecord {
  /** Time of the response, ms since the epoch. */
  at: number
  /** Null: the request matched no operation. */
  operation: string | null
  method: string
  /** Path and query, without parts that may be secret. At most 512 bytes, see `cutText`. */
  target: string
  /** Null also if the caller may not enter the project that was named. */
  project: string | null
  /** Id and name of the token. Null without a valid one. */
  actor: string | null
  actorName: string | null
  clientAddress: string
  requestId: string
  durationMs: number
  status: number
  code: string | null
  /** Program and arguments that were run or refused, cut by `boundCommand`. Null or absent: none, or not recorded. */
  command?: readonly string[] | null
  /** True: `command` lacks its end. */
  isCommandCut?: boolean
}

/** Filters of audit records, newest first. Null matches any. */
export interface AuditQuery {
  projects: readonly string[] | '*'
  project: string | null
  /** Id or name of a token. */
  actor: string | null
  operation: string | null
  status: number | null
  /** `next` of the previous page. Null: from the newest record. */
  before: number | null
  limit: number
}

/** A page of matching records, possibly empty. `next` is null on the last page. */
export interface AuditPage {
  records: { number: number; record: AuditRecord }[]
  next: number | null
}

export interface AuditStore {
  /** Adds records with the account of each, in one commit. */
  add(records: readonly (AuditRecord & { account: string })[]): Promise<void>
  /** Scans a bounded number of records. */
  read(query: AuditQuery): Promise<AuditPage>
  /** Deletes records from before `before`, and the oldest of the accounts that have most until `keep` are left. */
  prune(before: number, keep: number): Promise<void>
}
