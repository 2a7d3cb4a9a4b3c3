import type { ExecStatus } from '../../../shared/schemas/exec.ts'

/** A command of a box as it is stored. Times in ms since the epoch. */
export interface ExecRecord {
  id: string
  boxId: string
  project: string
  box: string
  command: string[]
  status: ExecStatus
  exitCode: number | null
  signal: string | null
  startedAt: number
  endedAt: number | null
  /** Whether it has a terminal, whose output is all stdout. */
  tty: boolean
  user: string
  cwd: string
  /** Whether it does not end with the agent. */
  detached: boolean
  process: number | null
  /** Bytes written in all, whatever of them is kept. */
  stdoutBytes: number
  stderrBytes: number
}

/** The kept ends of an ended command's output; null is one that is too large for its record and kept in a file. */
export interface ExecOutput {
  stdout: Uint8Array | null
  stderr: Uint8Array | null
}

/** What is kept of a box's ended commands: the newest records, and the sum of the bytes of their output. */
export interface ExecBounds {
  records: number
  bytes: number
}

/** A page of a box's commands ordered by id; `after` is the last id of the page before, `status` null is any. */
export interface ExecQuery {
  boxId: string
  status: ExecStatus | null
  after: string | null
  limit: number
}

/** Commands of boxes, that run or ended. */
export interface ExecStore {
  /** Writes nothing if the box is gone. */
  insert(record: ExecRecord): Promise<void>
  /**
   * Writes the end of a command and its kept output, of which `fileBytes` are in files, then drops what the box has over
   * `keep`: records, and output without its record, those that began first before others and never this one. Returns the ids
   * of the commands whose output is not kept any more: this one's if its box is gone.
   */
  finish(end: { record: ExecRecord; output: ExecOutput; fileBytes: number }, keep: ExecBounds): Promise<string[]>
  get(boxId: string, id: string): Promise<{ record: ExecRecord; output: ExecOutput } | null>
  list(query: ExecQuery): Promise<{ records: ExecRecord[]; hasMore: boolean }>
  /** Those that have not ended, of all boxes. */
  running(): Promise<ExecRecord[]>
  /** Commands of `ids` that have not ended are `lost`, without their output. */
  lose(ids: readonly string[], endedAt: number): Promise<void>
  /** All that have not ended, or have output in files. */
  withFiles(): Promise<{ boxId: string; execId: string }[]>
}
