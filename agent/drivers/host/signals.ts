import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { openPid, signalPid } from '../../lib/syscalls/events.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'

/**
 * Signals the processes that `list` tells of, and none that was given the number of one that is gone: each is held by a
 * descriptor, and signalled if the list still has it. Returns those signalled.
 */
export function signalMembers(list: () => number[], signal: NodeJS.Signals): number[] {
  const signalled: number[] = []
  const first = list()
  for (let begin = 0; begin < first.length; begin += HELD_AT_ONCE) {
    const held = hold(first.slice(begin, begin + HELD_AT_ONCE))
    try {
      const members = new Set(list())
      for (const { pid, fd } of held) if (members.has(pid) && signalPid(fd, signal)) signalled.push(pid)
    } finally {
      for (const { fd } of held) closeFd(fd)
    }
  }
  return signalled
}

/** Signals the session that the child `pid` of ours leads, which is not collected yet; false if nothing is left of it. */
export function signalSession(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(-pid, signal)
    return true
  } catch (error) {
    if (isErrno(error, 'ESRCH')) return false
    throw error
  }
}

function hold(pids: readonly number[]): { pid: number; fd: number }[] {
  return pids.flatMap((pid) => {
    try {
      return [{ pid, fd: openPid(pid) }]
    } catch (error) {
      // Gone, or a thread that is left of a process whose first one ended.
      if (isErrno(error, 'ESRCH', 'EINVAL', 'ENOENT')) return []
      throw error
    }
  })
}

const HELD_AT_ONCE = 256
