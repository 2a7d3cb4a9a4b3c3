import type { Problem } from '../../../shared/errors.ts'

/** What a mutation that outlived its wait waits for. */
export type OperationRecord = BoxOperationRecord | JobRecord

/** That `box` reaches `generation`. */
export interface BoxOperationRecord {
  id: string
  kind: string
  boxId: string
  project: string
  name: string
  generation: number
  createdAt: number
  /** Its end, once somebody was told of it. */
  outcome: OperationOutcome | null
}

/** Work that is about no box and tells its end itself. */
export interface JobRecord {
  id: string
  /** Such as `backup.create`. */
  kind: string
  /** Null: of all projects. */
  project: string | null
  /** The path of what it works on. */
  resource: string
  /** Of the request that began it. */
  requestId: string
  createdAt: number
  /** Null: it has not ended. */
  outcome: OperationOutcome | null
}

/** `error` is null or a problem as clients get it. */
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
  /** Forgets what was begun before; a job without an end stays. */
  prune(createdBefore: number): Promise<void>
}
