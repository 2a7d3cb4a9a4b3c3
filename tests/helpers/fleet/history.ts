/** A call of a fleet's client, and its outcome. All times are from one clock, in milliseconds. */
export interface HistoryCall {
  /** Index of the gateway that received it, from 0. */
  door: number
  begun: number
  /** Time of its answer. Infinity if the outcome is unknown, since its effect can come at any time. */
  ended: number
  request: CallRequest
  outcome: CallOutcome
  /** True for a call at the end, when all parts are up and no state changes any more. */
  isFinal?: boolean
}

export type Kind = 'box' | 'volume'

/**
 * The request. `key` is the idempotency key, and the resource also has it as a tag. Each box and volume has one file for writes and reads.
 * For a volume, `by` names a box that has it attached.
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
 * The outcome of a call.
 * - `done`: it succeeded, with the contents of the answer.
 * - `absent`: there is no such resource.
 * - `refused`: it changed nothing.
 * - `unknown`: no answer came, or the answer does not show the effect.
 */
export type CallOutcome =
  | { is: 'done'; seen?: SeenResource[]; value?: string; count?: number }
  | { is: 'absent' }
  | { is: 'refused'; code: string }
  | { is: 'unknown' }

/** The contents of an answer about a box or volume. */
export interface SeenResource {
  name: string
  id: string
  /** Its tag. Null if the answer has no tags, such as one from a cached summary. */
  key: string | null
  /** Names of the boxes that may write to a volume. */
  writers: string[]
}

/** A call of one operation on a named resource. */
export type NamedCall<Op extends CallRequest['op']> = HistoryCall & {
  request: Extract<CallRequest, { op: Op; name: string }>
}

/** Groups the calls of one operation by the kind and name of their resource. */
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
