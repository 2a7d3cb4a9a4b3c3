import type { ExecReason, ExecStatus } from '../../../shared/schemas/exec.ts'

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
  /** Why it could not start. Absent: it started, or its output has the reason. */
  reason?: ExecReason
  /** Processes that were killed for want of memory while it ran. Absent: none. */
  oomKills?: number
  startedAt: number
  endedAt: number | null
  /** True if it has a terminal, whose output is all stdout. */
  tty: boolean
  user: string
  cwd: string
  /** True if it outlives the agent. */
  detached: boolean
  process: number | null
  /** Bytes written in all, kept or not. */
  stdoutBytes: number
  stderrBytes: number
}

/** The kept tail of an ended command's output. Null if it is kept in a file, being too large for the record. */
export interface ExecOutput {
  stdout: Uint8Array | null
  stderr: Uint8Array | null
}

/** Bounds of a box's kept ended commands: number of records, and bytes of them and their output in all. */
export interface ExecBounds {
  records: number
  bytes: number
}

/** A page of a box's commands ordered by id. `after` is the last id of the previous page, `status` null matches any. */
export interface ExecQuery {
  boxId: string
  status: ExecStatus | null
  after: string | null
  limit: number
}

/** Stores commands of boxes, running and ended. */
export interface ExecStore {
  /** Inserts a command. Does nothing if the box is gone. */
  insert(record: ExecRecord): Promise<void>
  /**
   * Records the end of a command and its kept output, with `fileBytes` in files. Then drops what the box has above `keep`, oldest first
   * and never of this command. It drops records, then only output, then records again. Returns the ids of commands whose output is gone,
   * including this one if its box is gone.
   */
  finish(end: { record: ExecRecord; output: ExecOutput; fileBytes: number }, keep: ExecBounds): Promise<string[]>
  get(boxId: string, id: string): Promise<{ record: ExecRecord; output: ExecOutput } | null>
  list(query: ExecQuery): Promise<{ records: ExecRecord[]; hasMore: boolean }>
  /** Lists the commands of all boxes that have not ended. */
  running(): Promise<ExecRecord[]>
  /** Marks the commands of `ids` that have not ended as `lost`, without their output. */
  lose(ids: readonly string[], endedAt: number): Promise<void>
  /** Lists the commands that have not ended, or have output in files. */
  withFiles(): Promise<{ boxId: string; execId: string }[]>
}
