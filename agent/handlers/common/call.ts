import type * as z from 'zod'
import type { OperationId, operations, StreamId } from '../../../shared/routes.ts'
import type { Caller } from '../../core/common/caller.ts'
import type { CommandStream } from '../../core/exec/command-stream.ts'
import type { KeyedAnswer } from '../../ports/store/idempotency.ts'

type Operations = typeof operations

/** What the headers of a request ask of its answer. */
export interface RequestConditions {
  ifMatch: string | null
  ifNoneMatch: string | null
  range: string | null
  accept: string | null
  lastEventId: string | null
  /** The longest answer that whoever asked can carry, in bytes; null: any. */
  answerBytesMax: number | null
}

/** A validated request of one operation. */
export interface Call<K extends OperationId> extends RequestConditions {
  params: z.output<Operations[K]['params']>
  query: z.output<Operations[K]['query']>
  body: Operations[K]['body'] extends z.ZodType ? z.output<Operations[K]['body']> : undefined
  /** Null only where the operation needs no token and none was given. */
  caller: Operations[K]['permission'] extends null ? Caller | null : Caller
  /** The request as it was sent: a path with its query, without a ticket. */
  request: { operationId: string; target: string }
  /** With a ticket, the only box that is meant; null: whichever has the name. */
  boundBoxId: string | null
  /** The body as it comes, where the operation takes bytes and they are no JSON; it throws where it breaks off or was altered. */
  bytes: AsyncIterable<Uint8Array> | null
  idempotencyKey: string | null
  /**
   * Says what a repeat of this request reads from now on, though the answer is still to come: what was begun must not be
   * begun again, even if this process does not live to answer. Does nothing without an Idempotency-Key.
   */
  remember(read: ReplayRead): Promise<void>
  /**
   * What a repeat of this request is answered where it is answered so: for those who commit it together with what was asked,
   * so that no crash comes between. Null without an Idempotency-Key.
   */
  answerOf(reply: Reply): KeyedAnswer | null
}

/** An answer; the table's success status if `status` is left out. */
export interface Reply {
  status?: number
  /** Null: no body. */
  body: unknown
  /** Sent as it is, with a `content-type` of its own, in the place of a JSON body. */
  bytes?: AsyncIterable<Uint8Array> | Uint8Array
  headers?: Record<string, string>
  /** The record's version, sent as the ETag. */
  version?: number
  /** The ETag itself, quoted, of what has no version. */
  etag?: string
  /** What a replay of the request answers instead: without secrets. */
  replayBody?: unknown
  /** A replay of the request reads this instead, or a field of it: for what is too large, or too secret, to be kept twice. */
  replayRead?: ReplayRead
}

/** What a replay reads, with the token of whoever repeats the request. */
export interface ReplayRead {
  operation: 'getExec' | 'getBox'
  params: Record<string, string>
  query: Record<string, unknown>
  /** The only field that is read, as long as there is that very resource; the others are those of `replayBody`. */
  field?: 'environment'
}

/** One handler for every operation of the table: a missing one does not compile. */
export type Handlers = { [K in Exclude<OperationId, StreamId>]: (call: Call<K>) => Promise<Reply> }

/** One for every operation that is a WebSocket; what it throws is answered before there is one. */
export type StreamHandlers = { [K in StreamId]: (call: StreamCall<K>) => Promise<CommandStream> }

/** A validated request for a WebSocket. */
export type StreamCall<K extends StreamId> = Pick<Call<K>, 'params' | 'query' | 'caller' | 'boundBoxId'>
