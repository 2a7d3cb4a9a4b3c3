import os from 'node:os'
import { checked, isErrno, lazyNative } from './libc.ts'

/** Exit status of a process: an exit code, or the signal that killed it. */
export interface ChildStatus {
  exitCode: number | null
  signal: NodeJS.Signals | null
}

/** Makes this process the subreaper of its descendants, so that it can collect the exit status of orphans. */
export function adoptOrphans(): void {
  checked(prctl()(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 'prctl')
}

/**
 * Collects the status of the ended child `pid`, which must not be one of Node's own. Null while it runs.
 * Throws ECHILD if it is not a child of this process or was already collected.
 */
export function collectChild(pid: number): ChildStatus | null {
  const info = Buffer.alloc(SIGINFO_BYTES)
  checked(waitid()(P_PID, pid, info, WEXITED | WNOHANG), 'waitid')
  const code = info.readInt32LE(SI_CODE_OFFSET)
  // A child that asked to be traced (PTRACE_TRACEME) is reported when it stops, too, whatever was asked for.
  if (info.readInt32LE(SI_PID_OFFSET) === 0 || code > CLD_DUMPED) return null
  const status = info.readInt32LE(SI_STATUS_OFFSET)
  const isExit = code === CLD_EXITED
  return isExit ? { exitCode: status, signal: null } : { exitCode: null, signal: signalName(status) }
}

/** Like `collectChild`, but also returns null if there is no such child. */
export function tryCollectChild(pid: number): ChildStatus | null {
  try {
    return collectChild(pid)
  } catch (error) {
    if (isErrno(error, 'ECHILD')) return null
    throw error
  }
}

function signalName(number: number): NodeJS.Signals {
  const names = Object.entries(os.constants.signals) as [NodeJS.Signals, number][]
  return names.find(([, value]) => value === number)?.[0] ?? 'SIGKILL'
}

const PR_SET_CHILD_SUBREAPER = 36
const P_PID = 1
const WNOHANG = 1
const WEXITED = 4
const CLD_EXITED = 1
const CLD_DUMPED = 3
const SIGINFO_BYTES = 128
const SI_CODE_OFFSET = 8
const SI_PID_OFFSET = 12 + 4
const SI_STATUS_OFFSET = 24

const prctl = lazyNative<(option: number, a: number, b: number, c: number, d: number) => number>(null, 'prctl', {
  result: 'int',
  args: ['int', 'ulong', 'ulong', 'ulong', 'ulong'],
})
const waitid = lazyNative<(kind: number, id: number, info: Buffer, options: number) => number>(null, 'waitid', {
  result: 'int',
  args: ['int', 'uint', 'void *', 'int'],
})
