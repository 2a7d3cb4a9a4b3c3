import { addTicket } from '../../../shared/auth/ticket-target.ts'
import type { Tickets } from '../../core/access/tickets.ts'
import type { Call, Reply } from './call.ts'

export interface RedirectDeps {
  tickets: Tickets
  /** The origin at which a ticket is good. */
  dataUrl: string
}

/** A request whose answer may be longer than whoever asked can carry. */
export type LongCall = Pick<Call<'readFile'>, 'caller' | 'request' | 'boundBoxId' | 'answerBytesMax'>

/** The longest answer to a call, in bytes; null: any, also for whoever has a ticket, and so is where it led to. */
export function answerBytesMaxOf({ answerBytesMax, boundBoxId }: LongCall): number | null {
  return boundBoxId === null ? answerBytesMax : null
}

/** Says where the answer is for whoever cannot carry it. Throws `rate_limited` where too many tickets are open. */
export function redirectToDataAddress({ tickets, dataUrl }: RedirectDeps, call: LongCall, boxId: string | null): Reply {
  // As the client asked, so that the ticket is for just that.
  const { operationId, target } = call.request
  const { ticket } = tickets.issue({ operationId, target, boxId, caller: call.caller })
  return { status: 307, body: null, headers: { location: `${dataUrl}${addTicket(target, ticket)}` } }
}

/** JSON, or what says where it is for whoever cannot carry it. */
export function jsonOrRedirect(
  deps: RedirectDeps,
  { call, boxId }: { call: LongCall; boxId: string },
  bytes: Uint8Array,
): Reply {
  const most = answerBytesMaxOf(call)
  const isCarried = most === null || bytes.length <= most
  return isCarried ? { body: null, bytes, headers: JSON_TYPE } : redirectToDataAddress(deps, call, boxId)
}

/** Whether a call asks for a stream of messages, which has no end, in the place of one answer. */
export function isStreamAsked({ accept }: Pick<Call<'listEvents'>, 'accept'>): boolean {
  return accept?.includes(EVENT_STREAM) === true
}

/** The stream that `open` gives, or what says where it is: a function cannot carry what has no end. */
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
