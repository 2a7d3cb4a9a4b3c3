import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { openPid, signalPid } from '../../lib/syscalls/events.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'

/**
 * Signals the processes that `list` returns, safe against pid reuse. Opens a pidfd of each, then signals it only if `list` still has the
 * pid. Returns the pids signalled.
 */
export function signalMembers(list: () => number[], signal: NodeJS.Signals): number[] {
  const signalled: number[] = []
  const first = list()
  for (let begin = 0; begin < first.length; begin += BATCH_PIDS) {
    const opened = openPids(first.slice(begin, begin + BATCH_PIDS))
    try {
      const members = new Set(list())
      for (const { pid, fd } of opened) if (members.has(pid) && signalPid(fd, signal)) signalled.push(pid)
    } finally {
      for (const { fd } of opened) closeFd(fd)
    }
  }
  return signalled
}

/** Signals the process group led by the unreaped child `pid`. Returns false if it has no processes left. */
export function signalSession(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(-pid, signal)
    return true
  } catch (error) {
    if (isErrno(error, 'ESRCH')) return false
    throw error
  }
}

function openPids(pids: readonly number[]): { pid: number; fd: number }[] {
  return pids.flatMap((pid) => {
    try {
      return [{ pid, fd: openPid(pid) }]
    } catch (error) {
      // The process is gone, or the pid belongs to a thread whose main thread ended.
      if (isErrno(error, 'ESRCH', 'EINVAL', 'ENOENT')) return []
      throw error
    }
  })
}

const BATCH_PIDS = 256
