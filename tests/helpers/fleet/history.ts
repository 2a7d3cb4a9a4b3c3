/** A call of a client of a fleet, and what came of it. Times are of one clock, in milliseconds. */
export interface HistoryCall {
  /** Which door it went through, from 0. */
  door: number
  begun: number
  /** When its answer was there; Infinity if that is unknown, since its effect may come at any time. */
  ended: number
  request: CallRequest
  outcome: CallOutcome
  /** Made at the end, when all is up and nothing changes any more. */
  isFinal?: boolean
}

export type Kind = 'box' | 'volume'

/**
 * What was asked; `key` is the idempotency key, which the resource also bears as a tag. Each box and volume has one file that is written
 * and read; that of a volume `by` a box that has it.
 */
export type CallRequest =
  | { op: 'create'; kind: Kind; name: string; key: string }
  | { op: 'get'; kind: Kind; name: string }
  | { op: 'delete'; kind: Kind; name: string }
  | { op: 'list' | 'count'; kind: Kind }
  | { op: 'attach' | 'detach'; volume: string; box: string }
  | { op: 'write'; kind: Kind; name: string; value: string; by: string }
  | { op: 'read'; kind: Kind; name: string; by: string }

/**
 * `done` with what the answer tells; `absent`: there is no such thing; `refused`: nothing was changed; `unknown`: the answer did not
 * come, or does not say what has happened.
 */
export type CallOutcome =
  | { is: 'done'; seen?: SeenResource[]; value?: string; count?: number }
  | { is: 'absent' }
  | { is: 'refused'; code: string }
  | { is: 'unknown' }

/** What an answer tells of a box or volume. */
export interface SeenResource {
  name: string
  id: string
  /** Its tag; null where the answer does not tell tags, as one from a card. */
  key: string | null
  /** Names of the boxes that may write to a volume. */
  writers: string[]
}

/** A call of one operation on a named resource. */
export type NamedCall<Op extends CallRequest['op']> = HistoryCall & {
  request: Extract<CallRequest, { op: Op; name: string }>
}

/** Returns the calls of one operation, by the kind and name that they are about. */
export function callsOf<Op extends 'create' | 'get' | 'delete' | 'write' | 'read'>(
  calls: readonly HistoryCall[],
  op: Op,
): Map<string, NamedCall<Op>[]> {
  const own = calls.filter((call): call is NamedCall<Op> => call.request.op === op)
  return Map.groupBy(own, ({ request }) => `${request.kind} ${request.name}`)
}

/** Formats a call for a report. */
export function describeCall({ door, begun, ended, request, outcome }: HistoryCall): string {
  const { op, ...what } = request
  return `${op} ${Object.values(what).join(' ')} at door ${door} [${ms(begun)}–${ms(ended)}] → ${JSON.stringify(outcome)}`
}

function ms(time: number): string {
  return Number.isFinite(time) ? time.toFixed(0) : '…'
}
