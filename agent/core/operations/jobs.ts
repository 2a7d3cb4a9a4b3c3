import { asServiceError, problemOf, ServiceError } from '../../../shared/errors.ts'
import { newId } from '../../../shared/ids.ts'
import type { Logger } from '../../../shared/log.ts'
import { createLineBudget, logBounded } from '../../../shared/log-budget.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { Meter } from '../../ports/host/meter.ts'
import type { JobRecord, OperationOutcome } from '../../ports/store/operations.ts'
import type { Store } from '../../ports/store/store.ts'
import { withTimer } from '../common/deadline.ts'
import { createWaiters, type Waiters } from '../common/waiters.ts'

/** A job to start. With `project` null every token can see it. `resource` is the API path of its subject. */
export interface JobOptions {
  kind: string
  project: string | null
  resource: string
  requestId: string
}

/** A running job, as its work sees it. */
export interface JobRun {
  readonly id: string
  /** Aborts when the agent ends. The work then rejects soon. */
  readonly signal: AbortSignal
  /** Reports the progress, 0 to 1, or null if it is not known. */
  progress(share: number | null): void
}

export type JobWork = (run: JobRun) => Promise<void>

/** The outcome and progress of a job. */
export interface JobState {
  outcome: OperationOutcome
  progress: number | null
}

/** Runs work that outlives requests, such as backups, as operations with a status of their own. */
export interface Jobs {
  /** Records a job and begins its work. The job fails if that rejects. Resolves to its id. */
  start(options: JobOptions, work: JobWork): Promise<string>
  /** Resumes a job that an agent before this one began. Returns false if that has ended, or its record is gone. */
  resume(id: string, work: JobWork): Promise<boolean>
  /** Resolves to the state of a job once it has ended, or after `waitMs`. */
  settled(record: JobRecord, waitMs: number): Promise<JobState>
  /** As `settled`, by id. Null if there is none. */
  wait(id: string, waitMs: number): Promise<JobState | null>
  /** Fails the jobs of agents before this one that were not resumed. */
  failUnresumed(): Promise<void>
  /** Aborts the running jobs, and resolves when all have stopped. They stay without an end, and can be resumed. */
  close(): Promise<void>
}

export interface JobsDeps {
  store: Store
  clock: Clock
  meter: Meter
  logger: Logger
  newOperationId?: NewOperationId
}

/** Makes the id of an operation that begins at `nowMs`. The default one names no cell. */
export type NewOperationId = (nowMs: number) => string

/** Makes an id that names no cell, since there is one. */
export const newLocalId: NewOperationId = (nowMs) => newId('opr', nowMs)

/** Keeps running jobs in memory, their beginnings and ends in the store. Callers bound how many there are. */
export function createJobs(deps: JobsDeps): Jobs {
  const { store, clock, newOperationId = newLocalId } = deps
  const table = createTable(deps)
  const settled = async (record: JobRecord, waitMs: number): Promise<JobState> => {
    // Checks the entry before the record, because an end is written before the entry is removed.
    const read = async (): Promise<Reading> => {
      const isOver = !table.running.has(record.id)
      return { isOver, state: table.stateOf((await jobOf(store, record.id)) ?? record) }
    }
    const isDone = ({ isOver }: Reading): boolean => isOver
    const { state } = await withTimer({ clock, ms: waitMs }, (over) =>
      table.waiters.until(record.id, { read, isDone, timeout: waitMs === 0 ? Promise.resolve() : over }),
    )
    return state
  }
  return {
    start: async ({ kind, project, resource, requestId }, work) => {
      if (table.closing.signal.aborted) throw new ServiceError('draining', 'The service is shutting down. Retry later.')
      const now = clock.now()
      const id = newOperationId(now)
      const record = { id, kind, project, resource, requestId, createdAt: now, outcome: null }
      await store.operations.insert(record)
      table.begin(record, work)
      return id
    },
    resume: async (id, work) => {
      const record = await jobOf(store, id)
      if (!record || record.outcome !== null || table.running.has(id)) return false
      table.begin(record, work)
      return true
    },
    settled,
    wait: async (id, waitMs) => {
      const record = await jobOf(store, id)
      return record && settled(record, waitMs)
    },
    failUnresumed: async () => {
      for (const record of await store.operations.unfinishedJobs()) {
        if (!table.running.has(record.id))
          await table.conclude(record.id, failure(record, new ServiceError(...LOST), clock.now()))
      }
    },
    close: async () => {
      table.closing.abort(new ServiceError('draining', 'The service is shutting down.'))
      await Promise.all([...table.running.values()].map(({ ended }) => ended))
    },
  }
}

interface Running {
  kind: string
  progress: number | null
  ended: Promise<void>
}

interface Table {
  running: ReadonlyMap<string, Running>
  waiters: Waiters
  closing: AbortController
  begin(record: JobRecord, work: JobWork): void
  conclude(id: string, outcome: OperationOutcome): Promise<void>
  stateOf(record: JobRecord): JobState
}

function createTable({ store, clock, meter, logger }: JobsDeps): Table {
  const running = new Map<string, Running>()
  const time = meterJobs(meter, running)
  const unwritten = new Map<string, OperationOutcome>()
  const waiters = createWaiters()
  const closing = new AbortController()
  const lines = createLineBudget({ now: () => clock.now() })
  const conclude = async (id: string, outcome: OperationOutcome): Promise<void> => {
    try {
      await store.operations.finish(id, outcome)
    } catch (error) {
      unwritten.set(id, outcome)
      logger.error('failed to record the end of an operation', { operation: id, error })
    }
  }
  const count = ({ kind, createdAt }: JobRecord, status: string): void =>
    time({ kind, status }, Math.max(0, clock.now() - createdAt) / 1000)
  const runJob = async (record: JobRecord, work: JobWork): Promise<void> => {
    const { id, kind, project, requestId } = record
    const progress = (share: number | null): void => {
      const entry = running.get(id)
      if (entry) entry.progress = share
    }
    try {
      await work({ id, signal: closing.signal, progress })
      await conclude(id, { status: 'done', error: null, endedAt: clock.now() })
      count(record, 'done')
    } catch (error) {
      if (closing.signal.aborted) return
      logBounded(`project ${project ?? '-'}`, lines, (leftOut) =>
        logger.warn('operation failed', { operation: id, kind, request_id: requestId, error, ...leftOut }),
      )
      await conclude(id, failure(record, asServiceError(error), clock.now()))
      count(record, 'failed')
    }
  }
  const begin = (record: JobRecord, work: JobWork): void => {
    const { promise: ended, resolve } = Promise.withResolvers<void>()
    running.set(record.id, { kind: record.kind, progress: null, ended })
    void runJob(record, work).finally(() => {
      running.delete(record.id)
      waiters.notify(record.id)
      resolve()
    })
  }
  const stateOf = (record: JobRecord): JobState => {
    const outcome = record.outcome ?? unwritten.get(record.id) ?? RUNNING
    return { outcome, progress: outcome.status === 'running' ? (running.get(record.id)?.progress ?? null) : null }
  }
  return { running, waiters, closing, begin, conclude, stateOf }
}

interface Reading {
  isOver: boolean
  state: JobState
}

async function jobOf(store: Store, id: string): Promise<JobRecord | null> {
  const record = await store.operations.get(id)
  return record && 'resource' in record ? record : null
}

function failure(record: JobRecord, error: ServiceError, endedAt: number): OperationOutcome {
  return { status: 'failed', error: problemOf(error, record.requestId), endedAt }
}

function meterJobs(meter: Meter, running: ReadonlyMap<string, Running>) {
  meter.observable('gauge', JOBS_RUNNING, () =>
    [...Map.groupBy(running.values(), ({ kind }) => kind)].map(([kind, { length }]) => ({
      labels: { kind },
      value: length,
    })),
  )
  return meter.histogram(JOB_DURATION)
}

const JOBS_RUNNING = {
  name: 'boxyard_jobs_running',
  help: 'Running background operations, such as backups.',
  labels: ['kind'],
} as const
const JOB_DURATION = {
  name: 'boxyard_job_duration_seconds',
  help: 'Duration of background operations, such as backups, by outcome.',
  labels: ['kind', 'status'],
  bounds: [0.1, 0.5, 1, 5, 10, 60, 300, 1800, 7200],
} as const
const LOST = ['internal', 'The service restarted during this operation. Request it again.'] as const
const RUNNING: OperationOutcome = { status: 'running', error: null, endedAt: null }
