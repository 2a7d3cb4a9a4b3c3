import type { AuditPage, AuditQuery, CommitListener, EventPage, EventQuery, EventScope, InTurn } from './events.ts'

/** A read of events that continues until enough match. */
export interface EventScan extends EventQuery {
  /** The account whose turns it takes. */
  account: string
  /** The turns of the request that it reads for. */
  inTurn: InTurn
  /** Ends the scan where it is. */
  signal: AbortSignal
}

/** The numbers at which a cell's events begin and end for a scope. */
export interface EventBounds {
  /** From this on none was pruned. */
  oldest: number
  /** The number of the newest event ever. */
  newest: number
  /** The number before the first event of the requested time, or before the oldest kept. */
  begin: number
  /** The newest event from before the cell joined a fleet, or 0 if there is none. */
  aloneThrough: number
}

/** The events and the audit log of one cell of a fleet. */
export interface CellHistory {
  /** Number of the cell. */
  readonly cell: string
  /**
   * Returns the bounds of what a scope may see. `since` is in ms since the epoch, or null to start from the oldest kept.
   * @throws ServiceError `agent_unavailable` if the cell cannot be reached
   */
  bounds(query: { scope: EventScope; since: number | null }): Promise<EventBounds>
  /**
   * Reads until `limit` events match or there are no more. Returns fewer once some match and it has scanned about 10,000.
   * @throws ServiceError `cursor_expired`, `agent_unavailable`
   */
  readEvents(scan: EventScan): Promise<EventPage>
  /**
   * Reads records newest first, until `limit` match or there are no more. Another cell reads in turns of `account`.
   * @throws ServiceError `agent_unavailable`
   */
  readAudit(query: AuditQuery & { account: string }): Promise<AuditPage>
}

/** The histories of the other cells of the fleet. */
export interface OtherHistories {
  /** Returns the histories of all known cells, reachable or not. */
  cells(): readonly CellHistory[]
  /** Calls `listener` soon after another cell has written new events, if its events were read lately. */
  onCommit(listener: CommitListener): () => void
}
