import os from 'node:os'
import { closeFd } from './descriptors.ts'
import { checked, isErrno, lazyNative, watchReadable } from './libc.ts'

/** Opens a pidfd, which refers to this process even after the pid is reused. ESRCH if there is no such process. */
export function openPid(pid: number): number {
  return checked(pidfdOpen()(SYS_PIDFD_OPEN, pid, 0), 'pidfd_open')
}

/** Signals the process of a pidfd. Returns false if it is gone. */
export function signalPid(pidFd: number, signal: NodeJS.Signals): boolean {
  try {
    checked(pidfdSendSignal()(SYS_PIDFD_SEND_SIGNAL, pidFd, os.constants.signals[signal], null, 0), 'pidfd_send_signal')
    return true
  } catch (error) {
    if (isErrno(error, 'ESRCH')) return false
    throw error
  }
}

/** Resolves once the process of `pidFd`, which need not be a child, is gone or `signal` aborts. Returns which came first. */
export function waitForPid(pidFd: number, signal?: AbortSignal): Promise<'gone' | 'aborted'> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) {
      resolve('aborted')
      return
    }
    const settle = (outcome: 'gone' | 'aborted'): void => {
      watch.close()
      signal?.removeEventListener('abort', onAbort)
      resolve(outcome)
    }
    const onAbort = (): void => settle('aborted')
    const watch = watchReadable(pidFd, () => settle('gone'))
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

/** Opens an eventfd, non-blocking and close-on-exec. */
export function openEvent(): number {
  return checked(eventfd()(0, EFD_CLOEXEC | EFD_NONBLOCK), 'eventfd')
}

/** An event of one descriptor in an epoll set. */
export interface PollEvent {
  /** Number passed to `add`. */
  key: number
  /** Sum of `EPOLL` bits. */
  events: number
}

/** An epoll set. Unlike Node, it also watches for exceptional conditions, such as of cgroup event files (`EPOLL.PRI`). */
export interface PollSet {
  readonly fd: number
  add(fd: number, events: number, key: number): void
  remove(fd: number): void
  /** Returns at most 64 pending events. Does not wait. */
  ready(): PollEvent[]
  /** Calls `listener` with pending events from the event loop. Needs no thread. */
  watch(listener: (events: PollEvent[]) => void): void
  close(): void
}

/** Creates an epoll set. */
export function createPollSet(): PollSet {
  const fd = checked(epollCreate1()(EPOLL_CLOEXEC), 'epoll_create1')
  const buffer = Buffer.alloc(EVENT_BYTES * MAX_EVENTS)
  let watcher: { close(): void } | undefined
  const ready = (): PollEvent[] => {
    const count = checked(epollWait()(fd, buffer, MAX_EVENTS, 0), 'epoll_wait')
    return Array.from({ length: count }, (_, index) => ({
      events: buffer.readUInt32LE(index * EVENT_BYTES),
      key: buffer.readUInt32LE(index * EVENT_BYTES + EVENT_DATA_OFFSET),
    }))
  }
  return {
    fd,
    ready,
    add: (target, events, key) => {
      const event = Buffer.alloc(EVENT_BYTES)
      event.writeUInt32LE(events >>> 0, 0)
      event.writeUInt32LE(key, EVENT_DATA_OFFSET)
      checked(epollCtl()(fd, EPOLL_CTL_ADD, target, event), 'epoll_ctl')
    },
    remove: (target) => {
      checked(epollCtl()(fd, EPOLL_CTL_DEL, target, null), 'epoll_ctl')
    },
    watch: (listener) => {
      watcher = watchReadable(fd, () => {
        const events = ready()
        if (events.length > 0) listener(events)
      })
    },
    close: () => {
      watcher?.close()
      closeFd(fd)
    },
  }
}

/** Event bits of an epoll set. */
export const EPOLL = { IN: 1, PRI: 2, OUT: 4, ERR: 8, HUP: 16, EDGE: 0x80000000 } as const

const SYS_PIDFD_SEND_SIGNAL = 424
const SYS_PIDFD_OPEN = 434
const EFD_NONBLOCK = 0o4000
const EFD_CLOEXEC = 0o2000000
const EPOLL_CLOEXEC = 0o2000000
const EPOLL_CTL_ADD = 1
const EPOLL_CTL_DEL = 2
const MAX_EVENTS = 64
// struct epoll_event is packed on x86-64 only.
const EVENT_BYTES = process.arch === 'x64' ? 12 : 16
const EVENT_DATA_OFFSET = process.arch === 'x64' ? 4 : 8

const pidfdOpen = lazyNative<(call: number, pid: number, flags: number) => number>(null, 'syscall', {
  result: 'long',
  args: ['long', 'int', 'uint'],
})
const pidfdSendSignal = lazyNative<(call: number, fd: number, signal: number, info: null, flags: number) => number>(
  null,
  'syscall',
  { result: 'long', args: ['long', 'int', 'int', 'void *', 'uint'] },
)
const eventfd = lazyNative<(initial: number, flags: number) => number>(null, 'eventfd', {
  result: 'int',
  args: ['uint', 'int'],
})
const epollCreate1 = lazyNative<(flags: number) => number>(null, 'epoll_create1', { result: 'int', args: ['int'] })
const epollCtl = lazyNative<(set: number, operation: number, fd: number, event: Buffer | null) => number>(
  null,
  'epoll_ctl',
  { result: 'int', args: ['int', 'int', 'int', 'void *'] },
)
const epollWait = lazyNative<(set: number, events: Buffer, count: number, timeoutMs: number) => number>(
  null,
  'epoll_wait',
  { result: 'int', args: ['int', 'void *', 'int', 'int'] },
)
