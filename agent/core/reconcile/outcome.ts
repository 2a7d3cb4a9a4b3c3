import { ServiceError } from '../../../shared/errors.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { Outcome } from './plan.ts'

/** Returns the record with `outcome` as the observed state of its desired generation; version raised by one. */
export function settleRecord(record: BoxRecord, outcome: Outcome, at: { now: number; bootId: string }): BoxRecord {
  const { status, reason, message, power } = outcome
  return {
    ...record,
    version: record.version + 1,
    updatedAt: at.now,
    desired: { ...record.desired, power },
    observed: {
      ...record.observed,
      status,
      reason,
      message,
      since: at.now,
      generation: record.desired.generation,
      bootId: status === 'running' ? at.bootId : null,
    },
  }
}

/** Returns the record as `pending`, on its way to another state; version raised by one. */
export function pendingRecord(
  record: BoxRecord,
  reason: 'creating' | 'starting' | 'stopping' | 'restoring',
  now: number,
): BoxRecord {
  const observed = { ...record.observed, status: 'pending' as const, reason, message: null, since: now }
  return { ...record, version: record.version + 1, updatedAt: now, observed }
}

/**
 * Returns the outcome of a failed start of `record`, with a message for clients. Retries a start that no request waits for, as
 * after a reboot: while the runtime is unavailable the box is `unknown`.
 */
export function failedStart(record: BoxRecord): (error: unknown) => Outcome {
  return (error) => {
    const why = error instanceof ServiceError ? error.message : "The cause is logged under the box's id."
    const isOwed = record.observed.generation === record.desired.generation
    if (isOwed && error instanceof ServiceError && error.code === 'runtime_unavailable')
      return { ...unknownOutcome(record), message: `The box cannot be started again yet; it is tried again. ${why}` }
    return { status: 'stopped', reason: 'failed', message: `The start failed. ${why}`, power: 'stopped' }
  }
}

/** Returns the outcome while the runtime does not answer for the box; the step is tried again. */
export function unknownOutcome(record: BoxRecord): Outcome {
  const message = "The runtime does not answer for this box; it is tried again. The cause is logged under the box's id."
  return { status: 'unknown', reason: record.observed.reason, message, power: record.desired.power }
}
