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
