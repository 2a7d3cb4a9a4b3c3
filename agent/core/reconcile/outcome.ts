import { ServiceError } from '../../../shared/errors.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import { bumped } from '../common/edit-record.ts'
import type { Outcome } from './plan.ts'

/**
 * Returns the record with `outcome` as the observed state of its desired generation. Version raised by one. `wasStarted`: the box runs since a
 * start of this process, so that it has all that a first start gives it.
 */
export function settleRecord(
  record: BoxRecord,
  outcome: Outcome,
  at: { now: number; bootId: string; wasStarted: boolean },
): BoxRecord {
  const { status, reason, message, power } = outcome
  const observed = {
    ...record.observed,
    status,
    reason,
    message,
    since: at.now,
    generation: record.desired.generation,
    bootId: status === 'running' ? at.bootId : null,
    ...(status === 'running' && at.wasStarted ? { hasRun: true } : {}),
  }
  return bumped({ ...record, desired: { ...record.desired, power }, observed }, at.now)
}

/** Returns the record as `pending`, on its way to another state. Version raised by one. */
export function pendingRecord(
  record: BoxRecord,
  reason: 'creating' | 'starting' | 'stopping' | 'restoring',
  now: number,
): BoxRecord {
  const observed = { ...record.observed, status: 'pending' as const, reason, message: null, since: now }
  return bumped({ ...record, observed }, now)
}

/** A start that no retry can fix, because the root of the box is gone. */
export class MissingRoot extends ServiceError {
  constructor() {
    super('internal', 'The root of the box is missing in the storage pool.')
  }
}

/** Returns why a start failed, for clients. The cause of an unexpected error may hold paths of the host, so it goes only to the log. */
export function startFailure(error: unknown): string {
  return error instanceof ServiceError ? error.message : "Find the cause in the agent's log under the box's id."
}

/** Tests whether the agent retries a failed start. It does so if the box ran before and no request waits for it, as after a reboot. */
function isRetried(record: BoxRecord, error: unknown): boolean {
  return record.observed.generation === record.desired.generation && !(error instanceof MissingRoot)
}

/** Returns the outcome of a failed start of `record`, with a message for clients. While a start is tried again the box is `unknown`. */
export function failedStart(record: BoxRecord): (error: unknown) => Outcome {
  return (error) => {
    const why = startFailure(error)
    if (isRetried(record, error))
      return { ...unknownOutcome(record), message: `The box failed to restart. The agent retries. ${why}` }
    return { status: 'stopped', reason: 'failed', message: `The start failed. ${why}`, power: 'stopped' }
  }
}

/** Returns the outcome while the runtime does not answer for the box. The step is tried again. */
export function unknownOutcome(record: BoxRecord): Outcome {
  const message =
    "The container runtime does not answer for this box. The agent retries. Find the cause in its log under the box's id."
  return { status: 'unknown', reason: record.observed.reason, message, power: record.desired.power }
}
