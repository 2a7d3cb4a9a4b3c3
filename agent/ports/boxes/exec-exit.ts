import type { ExecReason } from '../../../shared/schemas/exec.ts'

/** End of a command. As in a shell, 127 is a missing program and 126 one that cannot be executed. */
export interface ExecExit {
  /** Null if a signal killed it. */
  exitCode: number | null
  /** Such as `SIGKILL`. Null if it exited. */
  signal: string | null
  /** True if the box's memory limit killed it. */
  outOfMemory: boolean
  /**
   * Number of processes that the memory limit killed while it ran. Counts the command's processes where its own cgroup counts them
   * (version 2, nesting), else the box's. Absent: none.
   */
  oomKills?: number
  /** Why it could not start, where clients must distinguish this from other exits. Absent: it started, or the output has the reason. */
  reason?: ExecReason
}
