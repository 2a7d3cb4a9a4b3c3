/** Who caused a change: the token and the request. */
export interface Actor {
  tokenId: string
  tokenName: string
  requestId: string
}

/** Knows on whose behalf the code that asks is running. */
export interface ActorContext {
  /** Null: nobody's but the service's own. */
  current(): Actor | null
  /** Runs `work`, and all that it begins, on behalf of `cause`. */
  run<T>(cause: Actor, work: () => T): T
}

/** Something that became of a resource, written in the commit that made it so. Nothing secret, nor of an environment, is in it. */
export interface EventRecord {
  id: string
  /** Milliseconds since the epoch. */
  at: number
  /** Dotted, such as `box.created`. */
  type: string
  /** Null: of what all projects share, or of the deployment. */
  project: string | null
  /** The path of what it is about. */
  resource: string
  /** Null: the service did it by itself. */
  actor: { id: string; name: string } | null
  requestId: string | null
  data: Record<string, unknown>
}

/** Whose events are read: of these projects, of what all of them share, and of the deployment itself, which is its admins'. */
export interface EventScope {
  projects: readonly string[] | '*'
  shared: boolean
  admin: boolean
}

export interface EventQuery {
  scope: EventScope
  /** Types, or `box.` for all that begin so; empty: any. */
  types: readonly string[]
  /** The number of the last event that was read. */
  after: number
  limit: number
}

/** Events by number; those that are read come after one another without a gap but for what the query leaves out. */
export interface EventPage {
  events: { number: number; record: EventRecord }[]
  /** The number up to which the query is answered. */
  through: number
  /** Whether events after that were numbered already, of which some may be wanted. */
  hasMore: boolean
}

/** Events, numbered in commit order from 1 without gaps; a number is never given twice. */
export interface EventStore {
  /** The numbers of the oldest kept and of the newest ever; the oldest is one above the newest where none is kept. */
  bounds(): Promise<{ oldest: number; newest: number }>
  /** Looks at a bounded number of events. */
  read(query: EventQuery): Promise<EventPage>
  /** Forgets what happened before `before`, and all but the newest `keep`. */
  prune(before: number, keep: number): Promise<void>
  /** Calls `listener` soon after events were committed by this process; returns what takes it out again. */
  onCommit(listener: () => void): () => void
}

/** A mutation, or a refusal, as it was answered. No secret is in it. */
export interface AuditRecord {
  /** When it was answered, ms since the epoch. */
  at: number
  /** Null: it was of no operation. */
  operation: string | null
  method: string
  /** Path and query, without what may be secret. */
  target: string
  project: string | null
  /** The id and the name of the token; null: none, or none that is good. */
  actor: string | null
  actorName: string | null
  clientAddress: string
  requestId: string
  durationMs: number
  status: number
  code: string | null
}

/** Which records are looked for, newest first; null is any. */
export interface AuditQuery {
  projects: readonly string[] | '*'
  project: string | null
  /** An id or a name. */
  actor: string | null
  operation: string | null
  status: number | null
  /** The number of the last record of the page before. */
  before: number | null
  limit: number
}

/** Some of the records that are looked for; `next` null: there are no more. */
export interface AuditPage {
  records: AuditRecord[]
  next: number | null
}

export interface AuditStore {
  /** Adds records, in one commit. */
  add(records: readonly AuditRecord[]): Promise<void>
  /** Looks at a bounded number of records. */
  read(query: AuditQuery): Promise<AuditPage>
  /** Forgets what was before `before`, and all but the newest `keep`. */
  prune(before: number, keep: number): Promise<void>
}
