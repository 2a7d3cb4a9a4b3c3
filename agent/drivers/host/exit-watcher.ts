import type { Logger } from '../../../shared/log.ts'
import { readTextIfThere } from '../../lib/disk/file-text.ts'
import { type ChildStatus, tryCollectChild } from '../../lib/syscalls/children.ts'
import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { createPollSet, EPOLL, openPid } from '../../lib/syscalls/events.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'

/** Tells when processes end, children of ours or not, with one epoll set and no thread. */
export interface ExitWatcher {
  /**
   * Calls `listener` once `pid` is gone, possibly before this returns, with how it ended if it was a child of ours.
   * Returns what stops it.
   */
  watch(pid: number, listener: (status: ChildStatus | null) => void): () => void
  /** Collects a child that ends, or has ended, once it has; a process that is none is left alone. */
  collect(pid: number): void
  /** Collects children named `command` that a child of ours left behind when it ended, and that nobody watches. */
  collectStrays(command: string): void
  /**
   * Collects the children that have ended, of those that run as one of `count` users from `first` on and that nobody
   * watches; returns those that have not.
   */
  collectOwned(users: UserRange): number[]
  close(): void
}

/** Users of the host. */
export interface UserRange {
  first: number
  count: number
}

/** A watcher of process ends. That a listener throws is logged, and is not felt by others. */
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
        logger.error('end of a process was not handled', { pid: watch.pid, error })
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

// What Node starts for us leads a session of its own in our pid namespace, and Node collects it.
function isStray(pid: number, command: string): boolean {
  const [, name, state, session] = /^\d+ \((.*)\) (\S) \d+ \d+ (\d+)/s.exec(readTextIfThere(`/proc/${pid}/stat`)) ?? []
  return name === command && state === 'Z' && (Number(session) !== pid || isNested(pid))
}

function isNested(pid: number): boolean {
  return /^NSpid:\t\d+\t/m.test(readTextIfThere(`/proc/${pid}/status`))
}

function readUser(pid: number): number | null {
  const user = /^Uid:\t(\d+)/m.exec(readTextIfThere(`/proc/${pid}/status`))?.[1]
  return user === undefined ? null : Number(user)
}
