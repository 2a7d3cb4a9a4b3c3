import { readFileSync } from 'node:fs'

/** Returns the fields of a process's `stat` file (proc_pid_stat(5)) from its state on, or none if it has ended. */
export function readStatFields(pid: string | number): string[] {
  const stat = tryRead(`/proc/${pid}/stat`)
  // The name, in parentheses, may contain spaces and parentheses.
  return stat === '' ? [] : stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** Returns the CPU time in those fields, of the process and of ended children that it has waited for. */
export function processorMsIn(fields: readonly string[]): number {
  return fields.slice(FIRST_TIME, FIRST_TIME + 4).reduce((sum, field) => sum + Number(field), 0) * TICK_MS
}

/** Returns the text of a file of /proc. Empty if the process has ended or belongs to another user. */
export function tryRead(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** The first of utime, stime, cutime, cstime. */
const FIRST_TIME = 11
/** The kernel shows times in hundredths of a second on all architectures. */
const TICK_MS = 10
