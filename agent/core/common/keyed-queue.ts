import { AsyncLocalStorage } from 'node:async_hooks'
import { ServiceError } from '../../../shared/errors.ts'

/** Runs work by key: one run of a key at a time, and one more if it was asked for meanwhile. */
export interface KeyedQueue {
  /** Asks for a run of `key`. */
  add(key: string): void
  /** Asks for a run of `key` after `delayMs`, unless one is asked for before; ends with the queue. */
  addLater(key: string, delayMs: number): void
  /**
   * Runs `turn` alone among all runs of `key`, before one that is asked for, which then comes before another turn. Its outcome
   * is this one's.
   * @throws ServiceError `box_busy` if it could not begin before `isOver` resolved, `draining` once the queue is closed
   */
  exclusive<T>(key: string, turn: () => Promise<T>, isOver: Promise<void>): Promise<T>
  /** Keys that are worked on, that are asked for again beside that, and that are to be tried later. */
  counts(): { running: number; waiting: number; later: number }
  /** Takes no more work, and resolves when what runs has ended. */
  close(): Promise<void>
}

export interface KeyedQueueDeps {
  work(key: string): Promise<void>
  /** `work` rejected, which it should not. */
  onError(key: string, error: unknown): void
}

/**
 * An unbounded set of keys: what it holds is bounded by the resources that exist, and by the requests under way. Runs are on
 * behalf of whoever makes the queue, turns of whoever asks for them.
 */
export function createKeyedQueue({ work, onError }: KeyedQueueDeps): KeyedQueue {
  const running = new Map<string, Promise<void>>()
  const wanted = new Set<string>()
  const turns = new Map<string, Set<Turn>>()
  const timers = new Map<string, NodeJS.Timeout>()
  const onOwnBehalf = AsyncLocalStorage.snapshot()
  let isClosed = false

  const runKey = async (key: string): Promise<void> => {
    for (let hasHadTurn = false; ; ) {
      const isDue = wanted.has(key) && !isClosed
      const turn: Turn | null = hasHadTurn && isDue ? null : takeFirst(turns, key)
      hasHadTurn = turn !== null
      if (turn !== null) await turn()
      else if (!isDue) break
      else {
        wanted.delete(key)
        await work(key).catch((error: unknown) => onError(key, error))
      }
    }
    running.delete(key)
  }
  const start = (key: string): void => {
    if (!running.has(key)) running.set(key, onOwnBehalf(runKey, key))
  }
  const add = (key: string): void => {
    if (isClosed) return
    clearTimeout(timers.get(key))
    timers.delete(key)
    wanted.add(key)
    start(key)
  }
  return {
    add,
    addLater: (key, delayMs) => {
      if (isClosed || timers.has(key)) return
      const timer = setTimeout(() => add(key), delayMs)
      timer.unref()
      timers.set(key, timer)
    },
    exclusive: (key, turn, isOver) =>
      new Promise((resolve, reject) => {
        if (isClosed) {
          reject(new ServiceError('draining', 'The service is stopping; try again.'))
          return
        }
        const waiting = turns.get(key) ?? new Set()
        const run = AsyncLocalStorage.bind((): Promise<void> => turn().then(resolve, reject))
        turns.set(key, waiting.add(run))
        void isOver.then(() => {
          // One that has begun is no longer there.
          if (waiting.delete(run))
            reject(new ServiceError('box_busy', 'Another step of the box is under way; try again.'))
        })
        start(key)
      }),
    counts: () => ({ running: running.size, waiting: new Set([...wanted, ...turns.keys()]).size, later: timers.size }),
    close: async () => {
      isClosed = true
      for (const timer of timers.values()) clearTimeout(timer)
      timers.clear()
      await Promise.all(running.values())
    },
  }
}

type Turn = () => Promise<void>

function takeFirst(turns: Map<string, Set<Turn>>, key: string): Turn | null {
  const waiting = turns.get(key)
  const [first] = waiting ?? []
  if (first === undefined) {
    turns.delete(key)
    return null
  }
  waiting?.delete(first)
  return first
}
