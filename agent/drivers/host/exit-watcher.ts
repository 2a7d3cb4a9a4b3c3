import fs from 'node:fs'
import type { Logger } from '../../../shared/log.ts'
import { readTextIfThere } from '../../lib/disk/file-text.ts'
import { type ChildStatus, tryCollectChild } from '../../lib/syscalls/children.ts'
import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { createPollSet, EPOLL, openPid } from '../../lib/syscalls/events.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'

/** Watches for the end of processes, children or not, by pidfds in one epoll set and without a thread. */
export interface ExitWatcher {
  /**
   * Calls `listener` once `pid` is gone, possibly before this returns, with the exit status if it was a child of this process.
   * Returns a function that stops watching.
   */
  watch(pid: number, listener: (status: ChildStatus | null) => void): () => void
  /** Reaps the child `pid` once it has ended. Ignores a process that is not a child. */
  collect(pid: number): void
  /** Reaps ended, unwatched children named `command` that this process inherited from a child that ended. */
  collectStrays(command: string): void
  /** Reaps ended, unwatched children that ran as one of `users`. Returns the pids of those still running. */
  collectOwned(users: UserRange): number[]
  close(): void
}

/** A range of `count` host user ids from `first` on. */
export interface UserRange {
  first: number
  count: number
}

/** Creates a watcher. Logs an error that a listener throws, without effect on others. */
export function createExitWatcher(logger: Logger): ExitWatcher {
  const set = createPollSet()
  const watches = new Map<number, { pid: number; fd: number; listener: (status: ChildStatus | null) => void }>()
  const pids = new Set<number>()
  let nextKey = 1
  const forget = (key: number): void => {
    const watch = watches.get(key)
    if (watch === undefined) return
    watches.delete(key)
    pids.delete(watch.pid)
    set.remove(watch.fd)
    closeFd(watch.fd)
  }
  set.watch((events) => {
    for (const { key } of events) {
      const watch = watches.get(key)
      if (watch === undefined) continue
      forget(key)
      try {
        watch.listener(tryCollectChild(watch.pid))
      } catch (error) {
        logger.error('failed to handle the exit of a process', { pid: watch.pid, error })
      }
    }
  })
  const watch: ExitWatcher['watch'] = (pid, listener) => {
    const status = tryCollectChild(pid)
    const fd = status === null ? tryOpenPid(pid) : null
    if (fd === null) {
      listener(status)
      return () => undefined
    }
    const key = nextKey++
    watches.set(key, { pid, fd, listener })
    pids.add(pid)
    set.add(fd, EPOLL.IN, key)
    return () => forget(key)
  }
  return {
    collectStrays: (command) => {
      for (const pid of readChildren()) if (!pids.has(pid) && isStray(pid, command)) tryCollectChild(pid)
    },
    collectOwned: ({ first, count }) => {
      return readChildren().filter((pid) => {
        const user = pids.has(pid) ? null : readUser(pid)
        return user !== null && user >= first && user < first + count && tryCollectChild(pid) === null
      })
    },
    watch,
    collect: (pid) => {
      watch(pid, () => undefined)
    },
    close: () => {
      for (const key of [...watches.keys()]) forget(key)
      set.close()
    },
  }
}

function tryOpenPid(pid: number): number | null {
  try {
    return openPid(pid)
  } catch (error) {
    if (isErrno(error, 'ESRCH')) return null
    throw error
  }
}

function readChildren(): number[] {
  return readTextIfThere(`/proc/self/task/${process.pid}/children`).split(' ').filter(Boolean).map(Number)
}

// Leaves the children that Node spawned to Node. Each leads its own session in our pid and user namespaces. A child of crun that enters a
// box leads its own session, too. If crun is killed, or kills itself, as at the process limit, it leaves this child behind.
function isStray(pid: number, command: string): boolean {
  const [, name, state, session] = /^\d+ \((.*)\) (\S) \d+ \d+ (\d+)/s.exec(readTextIfThere(`/proc/${pid}/stat`)) ?? []
  return name === command && state === 'Z' && (Number(session) !== pid || isNested(pid) || isOfOtherUsers(pid))
}

function isNested(pid: number): boolean {
  return /^NSpid:\t\d+\t/m.test(readTextIfThere(`/proc/${pid}/status`))
}

// A process that cannot be read counts as not theirs. This runs in timers, where an error would end the process.
function isOfOtherUsers(pid: number): boolean {
  try {
    return fs.readlinkSync(`/proc/${pid}/ns/user`) !== fs.readlinkSync('/proc/self/ns/user')
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ESRCH', 'EACCES', 'EPERM')) return false
    throw error
  }
}

function readUser(pid: number): number | null {
  const user = /^Uid:\t(\d+)/m.exec(readTextIfThere(`/proc/${pid}/status`))?.[1]
  return user === undefined ? null : Number(user)
}
