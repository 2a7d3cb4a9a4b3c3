import type * as z from 'zod'
import type { OperationId, operations, StreamId } from '../../../shared/routes.ts'
import type { Caller } from '../../core/common/caller.ts'
import type { CommandStream } from '../../core/exec/command-stream.ts'
import type { PortConnection } from '../../ports/boxes/port-connection.ts'
import type { KeyedAnswer } from '../../ports/store/idempotency.ts'

type Operations = typeof operations

/** Conditions and preferences in the headers of a request. */
export interface RequestConditions {
  ifMatch: string | null
  ifNoneMatch: string | null
  range: string | null
  accept: string | null
  lastEventId: string | null
  /** Longest answer that the caller can carry, in bytes. Null: any. */
  answerBytesMax: number | null
}

/** A validated request of one operation. */
export interface Call<K extends OperationId> extends RequestConditions {
  params: z.output<Operations[K]['params']>
  query: z.output<Operations[K]['query']>
  body: Operations[K]['body'] extends z.ZodType ? z.output<Operations[K]['body']> : undefined
  /** Null only for an operation that needs no token, called without one. */
  caller: Operations[K]['permission'] extends null ? Caller | null : Caller
  /** Path and query as sent, without a ticket. When it came, in ms since the epoch. Whether another cell has chosen this one for it. */
  request: { operationId: string; target: string; receivedAt: number; isPlaced: boolean }
  /** The only box that a ticket allows. Null: any box of that name. */
  boundBoxId: string | null
  /** The streamed body of an operation that takes bytes. Iteration throws if it breaks off or was altered. */
  bytes: AsyncIterable<Uint8Array> | null
  idempotencyKey: string | null
  /**
   * Stores the read that answers a repeat of this request before the answer is known. Work under way then runs only once, even if this
   * process dies. Does nothing without an Idempotency-Key.
   */
  remember(read: ReplayRead): Promise<void>
  /**
   * Builds the stored answer for a repeat, for handlers that commit it in one transaction with the change. Null without an
   * Idempotency-Key.
   */
  answerOf(reply: Reply): KeyedAnswer | null
}

/** An answer. Without `status`, it has the table's success status. */
export interface Reply {
  status?: number
  /** Null: no body. */
  body: unknown
  /** Sent in place of a JSON body, with its own `content-type`. */
  bytes?: AsyncIterable<Uint8Array> | Uint8Array
  headers?: Record<string, string>
  /** The record's version, sent as the ETag. */
  version?: number
  /** The quoted ETag of a resource without a version. */
  etag?: string
  /** The body of a replay, without secrets. */
  replayBody?: unknown
  /** A replay reads this, or a field of it, instead. Use it for bodies too large or too secret to store. */
  replayRead?: ReplayRead
}

/** A read that a replay makes, with the token of the repeated request. */
export interface ReplayRead {
  operation: 'getExec' | 'getBox'
  params: Record<string, string>
  query: Record<string, unknown>
  /**
   * Path of the resource to read, if it can be under way. While its `status` is `running`, the replay is 202 with it as
   * `Operation-Location`.
   */
  location?: string
  /** The only field to read, while that resource still exists. `replayBody` has the others. */
  field?: 'environment'
}

/** One handler for every operation of the table. If one is missing, the code does not compile. */
export type Handlers = { [K in Exclude<OperationId, StreamId>]: (call: Call<K>) => Promise<Reply> }

/** One handler for every WebSocket operation. Its errors are answered before the upgrade. */
export type StreamHandlers = {
  [K in StreamId]: (call: StreamCall<K>) => Promise<K extends 'openPort' ? PortConnection : CommandStream>
}

/** A validated request for a WebSocket. */
export type StreamCall<K extends StreamId> = Pick<Call<K>, 'params' | 'query' | 'caller' | 'boundBoxId'> & {
  /** Id for the command that it starts. Null: a new one. */
  execId: string | null
}
