import { addTicket } from '../../../shared/auth/ticket-target.ts'
import type { Tickets } from '../../core/access/tickets.ts'
import type { Call, Reply } from './call.ts'

export interface RedirectDeps {
  tickets: Tickets
  /** Origin at which tickets are redeemed. */
  dataUrl: string
}

/** A request whose answer may be longer than a function can carry. */
export type LongCall = Pick<Call<'readFile'>, 'caller' | 'request' | 'boundBoxId' | 'answerBytesMax'>

/** Returns the longest answer to a call in bytes. Null: any, also with a ticket, as the client is at the data address then. */
export function answerBytesMaxOf({ answerBytesMax, boundBoxId }: LongCall): number | null {
  return boundBoxId === null ? answerBytesMax : null
}

/** Redirects to the data address with a new ticket. Throws `rate_limited` if too many tickets are open. */
export function redirectToDataAddress({ tickets, dataUrl }: RedirectDeps, call: LongCall, boxId: string | null): Reply {
  // The target as the client sent it, to which the ticket is bound.
  const { operationId, target } = call.request
  const { ticket } = tickets.issue({ operationId, target, boxId, caller: call.caller })
  return { status: 307, body: null, headers: { location: `${dataUrl}${addTicket(target, ticket)}` } }
}

/** Answers with JSON, or a redirect if the caller cannot carry it. */
export function jsonOrRedirect(
  deps: RedirectDeps,
  { call, boxId }: { call: LongCall; boxId: string },
  bytes: Uint8Array,
): Reply {
  const most = answerBytesMaxOf(call)
  const isCarried = most === null || bytes.length <= most
  return isCarried ? { body: null, bytes, headers: JSON_TYPE } : redirectToDataAddress(deps, call, boxId)
}

/** Returns true if a call accepts server-sent events. */
export function isStreamAsked({ accept }: Pick<Call<'listEvents'>, 'accept'>): boolean {
  return accept?.includes(EVENT_STREAM) === true
}

/** Answers with the stream that `open` returns, or a redirect, as a function cannot carry a stream. */
export async function streamOrRedirect(
  deps: RedirectDeps,
  { call, boxId }: { call: LongCall; boxId: string | null },
  open: () => AsyncIterable<Uint8Array> | Promise<AsyncIterable<Uint8Array>>,
): Promise<Reply> {
  if (answerBytesMaxOf(call) !== null) return redirectToDataAddress(deps, call, boxId)
  return { body: null, bytes: await open(), headers: { 'content-type': EVENT_STREAM, 'cache-control': 'no-store' } }
}

const EVENT_STREAM = 'text/event-stream'
const JSON_TYPE = { 'content-type': 'application/json' }
