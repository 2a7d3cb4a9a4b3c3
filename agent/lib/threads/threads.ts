import { ServiceError } from '../../../shared/errors.ts'
import { closeFd } from '../syscalls/descriptors.ts'
import type { ArgumentOf, ReceivedBy, ResultOf, SentBy, TaskTable } from './steps.ts'
import { type FileThread, type FileThreadOptions, startFileThread, type TaskChannel } from './thread.ts'

/** Threads that do the file work of others: what is under way of one key is in one of them, so that each step of it is alone. */
export interface FileThreads<T extends TaskTable> {
  /** Starts the first, so that no task has to wait for it. */
  start(): Promise<void>
  /**
   * Begins a task of the table, and owns `fds` from now on: they are closed when the task has ended. Throws `draining` once
   * closed.
   */
  begin<N extends keyof T & string>(
    key: string,
    task: { name: N; argument: ArgumentOf<T[N]>; fds?: readonly number[] },
  ): Promise<TaskChannel<ResultOf<T[N]>, SentBy<T[N]>, ReceivedBy<T[N]>>>
  /** As `begin` for a task that says nothing: what came of it. */
  run<N extends keyof T & string>(
    key: string,
    task: { name: N; argument: ArgumentOf<T[N]>; fds?: readonly number[] },
  ): Promise<ResultOf<T[N]>>
  /** Ends them, as `FileThread.close`. */
  close(): Promise<void>
}

export interface FileThreadsOptions {
  /** Exports the table, `T`, as `tasks`. */
  module: URL
  /** At most; default 2. */
  count?: number
  /** As of `startFileThread`; default 30 s. */
  timeoutMs?: number
  /** As of `startFileThread`; default 256. */
  memoryMb?: number
}

/**
 * Threads for the tasks of a module, each of which takes some 30 MB: the first is started at the first task, the others when
 * those before have much to do. In place of one that broke another is started.
 */
export function createFileThreads<T extends TaskTable>(options: FileThreadsOptions): FileThreads<T> {
  const { module, count = 2, timeoutMs = 30_000, memoryMb = 256 } = options
  const places = Array.from({ length: count }, () => createPlace({ module, timeoutMs, memoryMb }))
  const keys = new Map<string, { place: Place; tasks: number }>()
  const enter = (key: string): Place => {
    const known = keys.get(key) ?? { place: choosePlace(places), tasks: 0 }
    known.tasks++
    known.place.tasks++
    keys.set(key, known)
    return known.place
  }
  const leave = (key: string, place: Place): void => {
    place.tasks--
    const known = keys.get(key)
    if (known !== undefined && --known.tasks === 0) keys.delete(key)
  }
  const begin: FileThreads<T>['begin'] = async (key, { name, argument, fds = [] }) => {
    const place = enter(key)
    let thread: FileThread
    try {
      thread = await place.thread()
    } catch (error) {
      leave(key, place)
      fds.forEach(closeFd)
      throw error
    }
    const talk = thread.begin({ name, argument, fds })
    void talk.gone.then(() => leave(key, place))
    return talk as never
  }
  return {
    start: async () => {
      await places[0]?.thread()
    },
    begin,
    run: async (key, task) => {
      const talk = await begin(key, task)
      try {
        return await talk.result()
      } finally {
        await talk.end()
      }
    },
    close: async () => {
      await Promise.all(places.map((place) => place.close()))
    },
  }
}

interface Place {
  /** How many are under way. */
  tasks: number
  thread(): Promise<FileThread>
  close(): Promise<void>
}

/** The first that is not busy, or the one that is least. */
function choosePlace(places: readonly Place[]): Place {
  const [first, ...others] = places
  if (first === undefined) throw new Error('there are no file threads')
  const free = places.find(({ tasks }) => tasks < BUSY_TASKS)
  return free ?? others.reduce((least, place) => (place.tasks < least.tasks ? place : least), first)
}

function createPlace(options: Omit<FileThreadOptions, 'onEnd'>): Place {
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
      if (isClosed) throw new ServiceError('draining', 'The service is stopping.')
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
