import { problemOf, ServiceError } from '../../shared/errors.ts'
import { newId } from '../../shared/ids.ts'
import type { OperationResource } from '../../shared/schemas/system.ts'
import { mayEnter } from '../../shared/tokens.ts'
import type { Clock } from '../ports/clock.ts'
import type { BoxRecord, OperationOutcome, OperationRecord, Store } from '../ports/store.ts'
import { timestamp } from './box-view.ts'
import type { Caller } from './caller.ts'
import type { Reconciler } from './reconciler.ts'

export interface OperationsDeps {
  store: Store
  reconciler: Reconciler
  clock: Clock
}

/** What names a mutation that outlived its wait. */
export interface Operations {
  /** Records that `kind` goes on for this box; the path to wait at. */
  begin(kind: string, box: BoxRecord): Promise<string>
  /** @throws ServiceError `operation_not_found` */
  get(caller: Caller, id: string, waitMs: number): Promise<OperationResource>
}

/** Operations whose state is read off the box they are about, until somebody has been told of their end. */
export function createOperations({ store, reconciler, clock }: OperationsDeps): Operations {
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
      if (!record || !mayEnter(caller, record.project)) {
        throw new ServiceError('operation_not_found', `No operation "${id}".`)
      }
      if (record.outcome) return viewOperation(record, record.outcome)
      const box = await reconciler.settled(record.boxId, record.generation, waitMs)
      const outcome = outcomeOf(record, box, { now: clock.now(), requestId: caller.requestId })
      // Once told, an end stays what it was, whatever becomes of the box later.
      if (outcome.status !== 'running') await store.operations.finish(id, outcome)
      return viewOperation(record, outcome)
    },
  }
}

function viewOperation(record: OperationRecord, outcome: OperationOutcome): OperationResource {
  return {
    id: record.id,
    kind: record.kind,
    status: outcome.status,
    progress: null,
    resource: `/v1/projects/${record.project}/boxes/${record.name}`,
    error: outcome.error && { ...outcome.error },
    created_at: timestamp(record.createdAt),
    ended_at: outcome.endedAt === null ? null : timestamp(outcome.endedAt),
  }
}

function outcomeOf(
  record: OperationRecord,
  box: BoxRecord | null,
  at: { now: number; requestId: string },
): OperationOutcome {
  const failed = (error: ServiceError, endedAt: number): OperationOutcome => ({
    status: 'failed',
    error: problemOf(error, at.requestId),
    endedAt,
  })
  if (!box) return failed(new ServiceError('box_not_found', 'The box was deleted meanwhile.'), at.now)
  const { observed } = box
  const isUnderWay = observed.generation < record.generation || observed.status === 'pending'
  if (isUnderWay || observed.status === 'unknown') return { status: 'running', error: null, endedAt: null }
  // A later wish has overruled this one, or this one has come to its end: a failed start is the only end that is bad.
  if (observed.generation === record.generation && observed.reason === 'failed') {
    return failed(new ServiceError('internal', observed.message ?? ''), observed.since)
  }
  return { status: 'done', error: null, endedAt: observed.since }
}
