import { readdirSync } from 'node:fs'
import { processorMsIn, readStatFields, tryRead } from '../proc-stat.ts'

/** Resources used by the processes of a session, and by ended children that they have waited for. */
export interface SessionUsage {
  processorMs: number
  /** Bytes read from and written to files, pipes and sockets. */
  bytes: number
}

/** Reads the usage of a session, named by the pid of its first process. Returns zero if it has no process. */
export function readSessionUsage(session: number): SessionUsage {
  const usage = { processorMs: 0, bytes: 0 }
  for (const pid of readdirSync('/proc')) {
    if (!/^\d+$/.test(pid)) continue
    const fields = readStatFields(pid)
    if (Number(fields[SESSION]) !== session) continue
    usage.processorMs += processorMsIn(fields)
    for (const [, bytes] of tryRead(`/proc/${pid}/io`).matchAll(/^[rw]char: (\d+)$/gm)) usage.bytes += Number(bytes)
  }
  return usage
}

/** A field of proc_pid_stat(5), counted from the state. */
const SESSION = 3
