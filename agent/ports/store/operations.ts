import type { Problem } from '../../../shared/errors.ts'

/** A mutation that outlived its wait. */
export type OperationRecord = BoxOperationRecord | JobRecord

/** Done once the box reaches `generation`. */
export interface BoxOperationRecord {
  id: string
  kind: string
  boxId: string
  project: string
  name: string
  generation: number
  createdAt: number
  /** Null until its end was reported to a client. */
  outcome: OperationOutcome | null
}

/** A job, with an end of its own. */
export interface JobRecord {
  id: string
  /** Such as `backup.create`. */
  kind: string
  /** Null: of all projects. */
  project: string | null
  /** The API path of what it works on. */
  resource: string
  /** Of the request that began it. */
  requestId: string
  createdAt: number
  /** Null: it has not ended. */
  outcome: OperationOutcome | null
}

/** The state of an operation; `error` is the problem that clients get. */
export interface OperationOutcome {
  status: 'running' | 'done' | 'failed'
  error: Problem | null
  endedAt: number | null
}

export interface OperationStore {
  insert(record: OperationRecord): Promise<void>
  get(id: string): Promise<OperationRecord | null>
  /** Writes the end; the first one counts. */
  finish(id: string, outcome: OperationOutcome): Promise<void>
  /** Jobs without an end. */
  unfinishedJobs(): Promise<JobRecord[]>
  /** Removes the operations created before, but jobs without an end. */
  prune(createdBefore: number): Promise<void>
}
