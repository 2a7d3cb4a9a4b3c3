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

/** Where the events of a cell that a scope may see begin and end, by number. */
export interface EventBounds {
  /** From this on none was pruned. */
  oldest: number
  /** The number of the newest event ever. */
  newest: number
  /** After this one comes the first from the time that was asked for, or the oldest kept. */
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
   * Reads on until `limit` events match or there are no more. With fewer, once some match and 10,000 or so were looked at.
   * @throws ServiceError `cursor_expired`, `agent_unavailable`
   */
  readEvents(scan: EventScan): Promise<EventPage>
  /**
   * Reads records newest first, until `limit` match or there are no more. At another cell in turns of `account`.
   * @throws ServiceError `agent_unavailable`
   */
  readAudit(query: AuditQuery & { account: string }): Promise<AuditPage>
}

/** The histories of the other cells of the fleet. */
export interface OtherHistories {
  /** Returns the histories of all known cells, reachable or not. */
  cells(): readonly CellHistory[]
  /** Calls `listener` soon after another cell, of whose events some were read lately, has written new ones. */
  onCommit(listener: CommitListener): () => void
}
