import type { Problem } from '../../../shared/errors.ts'

/** A mutation that had not ended when its request was answered. */
export type OperationRecord = BoxOperationRecord | JobRecord

/** A mutation of a box, done once the box reaches `generation`. */
export interface BoxOperationRecord {
  id: string
  kind: string
  boxId: string
  project: string
  name: string
  generation: number
  createdAt: number
  /** Null until its end was first reported to a client. */
  outcome: OperationOutcome | null
}

/** A job. Its end is recorded separately. */
export interface JobRecord {
  id: string
  /** Such as `backup.create`. */
  kind: string
  /** Null: of no single project. */
  project: string | null
  /** The API path of the resource it works on. */
  resource: string
  /** Id of the request that started it. */
  requestId: string
  createdAt: number
  /** Null until it has ended. */
  outcome: OperationOutcome | null
}

/** The state of an operation. `error` is the problem that clients get. */
export interface OperationOutcome {
  status: 'running' | 'done' | 'failed'
  error: Problem | null
  endedAt: number | null
}

export interface OperationStore {
  insert(record: OperationRecord): Promise<void>
  get(id: string): Promise<OperationRecord | null>
  /** Records the end, unless one is recorded. */
  finish(id: string, outcome: OperationOutcome): Promise<void>
  /** Lists the jobs without an end. */
  unfinishedJobs(): Promise<JobRecord[]>
  /** Deletes operations created before `createdBefore`, except jobs without an end. */
  prune(createdBefore: number): Promise<void>
  /** Deletes the oldest operations of the projects that have most until `keep` are left, except jobs without an end. */
  bound(keep: number): Promise<void>
}
