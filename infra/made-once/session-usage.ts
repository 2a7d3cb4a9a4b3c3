import { readdirSync, readFileSync } from 'node:fs'

/** Resources that the processes of a session have used, with the ended children that they have waited for. */
export interface SessionUsage {
  processorMs: number
  /** Bytes read from and written to files, pipes and sockets. */
  bytes: number
}

/** Reads the usage of a session, which is named by the pid of its first process; zero if it has no process. */
export function readSessionUsage(session: number): SessionUsage {
  const usage = { processorMs: 0, bytes: 0 }
  for (const pid of readdirSync('/proc')) {
    if (!/^\d+$/.test(pid)) continue
    const stat = tryRead(`/proc/${pid}/stat`)
    // The name, in parentheses, may contain spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (Number(fields[SESSION]) !== session) continue
    const ticks = fields.slice(FIRST_TIME, FIRST_TIME + 4).reduce((sum, field) => sum + Number(field), 0)
    usage.processorMs += ticks * TICK_MS
    for (const [, bytes] of tryRead(`/proc/${pid}/io`).matchAll(/^[rw]char: (\d+)$/gm)) usage.bytes += Number(bytes)
  }
  return usage
}

/** Returns the text of a file of /proc; empty if the process has ended or belongs to another user. */
function tryRead(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

// Fields of proc_pid_stat(5), counted from the state.
const SESSION = 3
/** The first of utime, stime, cutime, cstime. */
const FIRST_TIME = 11
/** The kernel shows times in hundredths of a second on all architectures. */
const TICK_MS = 10
