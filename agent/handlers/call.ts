import type * as z from 'zod'
import type { OperationId, operations } from '../../shared/routes.ts'
import type { Caller } from '../core/caller.ts'

type Operations = typeof operations

/** A validated request of one operation. */
export interface Call<K extends OperationId> {
  params: z.output<Operations[K]['params']>
  query: z.output<Operations[K]['query']>
  body: Operations[K]['body'] extends z.ZodType ? z.output<Operations[K]['body']> : undefined
  /** Null only where the operation needs no token and none was given. */
  caller: Operations[K]['permission'] extends null ? Caller | null : Caller
  ifMatch: string | null
  idempotencyKey: string | null
  /**
   * Says what a repeat of this request reads from now on, though the answer is still to come: what was begun must not be
   * begun again, even if this process does not live to answer. Does nothing without an Idempotency-Key.
   */
  remember(read: ReplayRead): Promise<void>
}

/** An answer; the table's success status if `status` is left out. */
export interface Reply {
  status?: number
  /** Null: no body. */
  body: unknown
  headers?: Record<string, string>
  /** The record's version, sent as the ETag. */
  version?: number
  /** What a replay of the request answers instead: without secrets. */
  replayBody?: unknown
  /** A replay of the request reads this instead: for an answer too large, or too secret, to be kept twice. */
  replayRead?: ReplayRead
}

/** What a replay reads, with the token of whoever repeats the request. */
export interface ReplayRead {
  operation: 'getExec'
  params: Record<string, string>
  query: Record<string, unknown>
}

/** One handler for every operation of the table: a missing one does not compile. */
export type Handlers = { [K in OperationId]: (call: Call<K>) => Promise<Reply> }
