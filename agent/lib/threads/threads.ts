import { ServiceError } from '../../../shared/errors.ts'
import { closeFd } from '../syscalls/descriptors.ts'
import type { ArgumentOf, ReceivedBy, ResultOf, SentBy, TaskTable } from './task.ts'
import { type FileThread, type FileThreadOptions, startFileThread, type TaskChannel } from './thread.ts'

/** A pool of threads for file work. Tasks of one key that overlap run in one thread, so that their steps exclude each other. */
export interface FileThreads<T extends TaskTable> {
  /** Starts the first thread ahead of the first task. */
  start(): Promise<void>
  /**
   * Starts a task of the table and takes ownership of `fds`, which it closes when the task has ended. Throws `draining` once the pool is
   * closed.
   */
  begin<N extends keyof T & string>(
    key: string,
    task: { name: N; argument: ArgumentOf<T[N]>; fds?: readonly number[] },
  ): Promise<TaskChannel<ResultOf<T[N]>, SentBy<T[N]>, ReceivedBy<T[N]>>>
  /** Runs a task that sends no messages, and returns its result. */
  run<N extends keyof T & string>(
    key: string,
    task: { name: N; argument: ArgumentOf<T[N]>; fds?: readonly number[] },
  ): Promise<ResultOf<T[N]>>
  /** Closes the threads as `FileThread.close` does. */
  close(): Promise<void>
}

export interface FileThreadsOptions {
  /** Exports the table, `T`, as `tasks`. */
  module: URL
  /** Maximum number of threads. Default 2. */
  count?: number
  /** Limit of a single step, as for `startFileThread`. Default 30 s. */
  timeoutMs?: number
  /** Heap limit in MiB, as for `startFileThread`. Default 256. */
  memoryMb?: number
  /** As for `startFileThread`. Default 0. */
  niceness?: number
}

/**
 * Creates a pool for the tasks of a module. A thread takes about 30 MB. The first is started at the first task, each further one
 * when those before are busy. A thread that broke is replaced at the next task.
 */
export function createFileThreads<T extends TaskTable>(options: FileThreadsOptions): FileThreads<T> {
  const { module, count = 2, timeoutMs = 30_000, memoryMb = 256, niceness = 0 } = options
  const slots = Array.from({ length: count }, () => createSlot({ module, timeoutMs, memoryMb, niceness }))
  const keys = new Map<string, { slot: Slot; tasks: number }>()
  const acquire = (key: string): Slot => {
    const entry = keys.get(key) ?? { slot: chooseSlot(slots), tasks: 0 }
    entry.tasks++
    entry.slot.tasks++
    keys.set(key, entry)
    return entry.slot
  }
  const release = (key: string, slot: Slot): void => {
    slot.tasks--
    const entry = keys.get(key)
    if (entry !== undefined && --entry.tasks === 0) keys.delete(key)
  }
  const begin: FileThreads<T>['begin'] = async (key, { name, argument, fds = [] }) => {
    const slot = acquire(key)
    let thread: FileThread
    try {
      thread = await slot.thread()
    } catch (error) {
      release(key, slot)
      fds.forEach(closeFd)
      throw error
    }
    const channel = thread.begin({ name, argument, fds })
    void channel.closed.then(() => release(key, slot))
    return channel as never
  }
  return {
    start: async () => {
      await slots[0]?.thread()
    },
    begin,
    run: async (key, task) => {
      const channel = await begin(key, task)
      try {
        return await channel.result()
      } finally {
        await channel.end()
      }
    },
    close: async () => {
      await Promise.all(slots.map((slot) => slot.close()))
    },
  }
}

interface Slot {
  /** Number of running tasks. */
  tasks: number
  thread(): Promise<FileThread>
  close(): Promise<void>
}

/** Picks the first slot that is not busy, else the one with the fewest tasks. */
function chooseSlot(slots: readonly Slot[]): Slot {
  const [first, ...rest] = slots
  if (first === undefined) throw new Error('there are no file threads')
  const free = slots.find(({ tasks }) => tasks < BUSY_TASKS)
  return free ?? rest.reduce((least, slot) => (slot.tasks < least.tasks ? slot : least), first)
}

function createSlot(options: Omit<FileThreadOptions, 'onEnd'>): Slot {
  let current: Promise<FileThread> | undefined
  let isClosed = false
  const start = (): Promise<FileThread> => {
    const forget = (): void => {
      if (current === started) current = undefined
    }
    const started = startFileThread({ ...options, onEnd: forget })
    started.catch(forget)
    return started
  }
  return {
    tasks: 0,
    thread: async () => {
      if (isClosed) throw new ServiceError('draining', 'The service is shutting down.')
      current ??= start()
      return current
    },
    close: async () => {
      isClosed = true
      await (await current?.catch(() => undefined))?.close()
    },
  }
}

const BUSY_TASKS = 4
