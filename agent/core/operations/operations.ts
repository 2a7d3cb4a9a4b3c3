import { mayEnter } from '../../../shared/auth/tokens.ts'
import { problemOf, ServiceError } from '../../../shared/errors.ts'
import { newId } from '../../../shared/ids.ts'
import type { OperationResource } from '../../../shared/schemas/operations.ts'
import { timestamp } from '../../../shared/time.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { BoxOperationRecord, OperationOutcome, OperationRecord } from '../../ports/store/operations.ts'
import type { Store } from '../../ports/store/store.ts'
import type { Caller } from '../common/caller.ts'
import { boxGone } from '../common/lookup.ts'
import { restoreFailed } from '../reconcile/pending-restore.ts'
import type { Reconciler } from '../reconcile/reconciler.ts'
import type { JobState, Jobs } from './jobs.ts'

export interface OperationsDeps {
  store: Store
  reconciler: Reconciler
  jobs: Pick<Jobs, 'settled'>
  clock: Clock
}

/** Tracks mutations that outlived their wait. */
export interface Operations {
  /** Records an operation of `kind` on a box at its desired generation; resolves to the path to poll. */
  begin(kind: string, box: BoxRecord): Promise<string>
  /** @throws ServiceError `operation_not_found` */
  get(caller: Caller, id: string, waitMs: number): Promise<OperationResource>
}

/**
 * Derives the state of an operation from its box until its end was reported once, and is recorded then. Jobs have a state of
 * their own.
 */
export function createOperations({ store, reconciler, jobs, clock }: OperationsDeps): Operations {
  return {
    begin: async (kind, box) => {
      const { id: boxId, project, name, desired } = box
      const now = clock.now()
      const id = newId('opr', now)
      await store.operations.insert({
        id,
        kind,
        boxId,
        project,
        name,
        generation: desired.generation,
        createdAt: now,
        outcome: null,
      })
      return `/v1/operations/${id}`
    },
    get: async (caller, id, waitMs) => {
      const record = await store.operations.get(id)
      if (!record || (record.project !== null && !mayEnter(caller, record.project))) {
        throw new ServiceError('operation_not_found', `No operation "${id}".`)
      }
      if ('resource' in record) return viewOperation(record, await jobs.settled(record, waitMs))
      if (record.outcome) return viewOperation(record, { outcome: record.outcome, progress: null })
      const box = await reconciler.settled(record.boxId, record.generation, waitMs)
      const outcome = outcomeOf(record, box, { now: clock.now(), requestId: caller.requestId })
      // Records an end once it is reported, so that later changes of the box do not alter it.
      if (outcome.status !== 'running') await store.operations.finish(id, outcome)
      return viewOperation(record, { outcome, progress: null })
    },
  }
}

/** Returns the operation in the form of the API. */
function viewOperation(record: OperationRecord, { outcome, progress }: JobState): OperationResource {
  const resource = 'resource' in record ? record.resource : `/v1/projects/${record.project}/boxes/${record.name}`
  return {
    id: record.id,
    kind: record.kind,
    status: outcome.status,
    progress,
    resource,
    error: outcome.error && { ...outcome.error },
    created_at: timestamp(record.createdAt),
    ended_at: outcome.endedAt === null ? null : timestamp(outcome.endedAt),
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
  // A failed start of this generation is the only failure: else it was reached, or a later desired state replaced it.
  if (observed.generation === record.generation && observed.reason === 'failed') {
    return failed(new ServiceError('internal', observed.message ?? ''), observed.since)
  }
  return { status: 'done', error: null, endedAt: observed.since }
}
