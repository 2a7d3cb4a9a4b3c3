import { mayEnter } from '../../../shared/auth/tokens.ts'
import { problemOf, ServiceError } from '../../../shared/errors.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { BoxOperationRecord, OperationOutcome, OperationRecord } from '../../ports/store/operations.ts'
import type { Store } from '../../ports/store/store.ts'
import type { Caller } from '../common/caller.ts'
import { boxGone } from '../common/lookup.ts'
import { restoreFailed } from '../reconcile/pending-restore.ts'
import type { Reconciler } from '../reconcile/reconciler.ts'
import { type JobState, type Jobs, type NewOperationId, newLocalId } from './jobs.ts'

export interface OperationsDeps {
  store: Store
  reconciler: Reconciler
  jobs: Pick<Jobs, 'settled'>
  clock: Clock
  newOperationId?: NewOperationId
}

/** An operation, and its state as of now. */
export interface OperationState extends JobState {
  record: OperationRecord
}

/** Tracks mutations that outlived their wait. */
export interface Operations {
  /** Records an operation of `kind` on a box at its desired generation, whose request came at `createdAt`. Resolves to its id. */
  begin(kind: string, box: BoxRecord, createdAt: number): Promise<string>
  /** @throws ServiceError `operation_not_found` */
  get(caller: Caller, id: string, waitMs: number): Promise<OperationState>
}

/**
 * Derives the state of an operation from its box until its end was reported once, and is recorded then. Jobs have a state of
 * their own.
 */
export function createOperations(deps: OperationsDeps): Operations {
  const { store, reconciler, jobs, clock, newOperationId = newLocalId } = deps
  return {
    begin: async (kind, box, createdAt) => {
      const { id: boxId, project, name, desired } = box
      const id = newOperationId(createdAt)
      await store.operations.insert({
        id,
        kind,
        boxId,
        project,
        name,
        generation: desired.generation,
        createdAt,
        outcome: null,
      })
      return id
    },
    get: async (caller, id, waitMs) => {
      const record = await store.operations.get(id)
      if (!record || (record.project !== null && !mayEnter(caller, record.project))) {
        throw new ServiceError('operation_not_found', `No operation "${id}".`)
      }
      if ('resource' in record) return { record, ...(await jobs.settled(record, waitMs)) }
      if (record.outcome) return { record, outcome: record.outcome, progress: null }
      const box = await reconciler.settled(record.boxId, record.generation, waitMs)
      const outcome = outcomeOf(record, box, { now: clock.now(), requestId: caller.requestId })
      // Records an end once it is reported, so that later changes of the box do not alter it.
      if (outcome.status !== 'running') await store.operations.finish(id, outcome)
      return { record, outcome, progress: null }
    },
  }
}

function outcomeOf(
  record: BoxOperationRecord,
  box: BoxRecord | null,
  at: { now: number; requestId: string },
): OperationOutcome {
  const failed = (error: ServiceError, endedAt: number): OperationOutcome => ({
    status: 'failed',
    error: problemOf(error, at.requestId),
    endedAt,
  })
  if (!box) return failed(boxGone(), at.now)
  const { observed } = box
  const isUnderWay = observed.generation < record.generation || observed.status === 'pending'
  if (isUnderWay || observed.status === 'unknown') return { status: 'running', error: null, endedAt: null }
  const { restoreFault } = box
  if (record.kind === 'box.restore' && restoreFault !== null && observed.generation === record.generation)
    return failed(restoreFailed(restoreFault), observed.since)
  // Only a failed start of this generation is a failure. Otherwise it was reached, or a later desired state replaced it.
  if (observed.generation === record.generation && observed.reason === 'failed') {
    return failed(new ServiceError('internal', observed.message ?? ''), observed.since)
  }
  return { status: 'done', error: null, endedAt: observed.since }
}
