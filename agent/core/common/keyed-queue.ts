import { AsyncLocalStorage } from 'node:async_hooks'
import { ServiceError } from '../../../shared/errors.ts'
import { refusal } from '../../../shared/refusals.ts'
import type { Clock } from '../../ports/host/clock.ts'

/** A work queue by key. Runs a key once at a time, and once more if it was added during the run. */
export interface KeyedQueue {
  /** Queues a run of `key`. */
  add(key: string): void
  /** Queues a run of `key` after `delayMs`, unless it is added before. The run is dropped when the queue closes. */
  addLater(key: string, delayMs: number): void
  /**
   * Runs `turn` while no run of `key` is under way, ahead of a queued run, which then goes before the next turn. Resolves as
   * `turn` does.
   * @throws ServiceError `box_busy` if it could not begin before `isOver` resolved, `draining` once the queue is closed
   */
  exclusive<T>(key: string, turn: () => Promise<T>, isOver: Promise<void>): Promise<T>
  /** Counts the keys that run, those with a run or turn waiting, and those delayed. */
  counts(): { running: number; waiting: number; later: number }
  /** Takes no more work, and resolves when the current runs have ended. */
  close(): Promise<void>
}

export interface KeyedQueueDeps {
  work(key: string): Promise<void>
  /** Called if `work` rejects. */
  onError(key: string, error: unknown): void
  clock: Pick<Clock, 'sleep'>
}

/**
 * Bounded by the resources that exist, and by the requests under way. Runs have the async context of the creator of the queue,
 * turns use the context of their caller.
 */
export function createKeyedQueue({ work, onError, clock }: KeyedQueueDeps): KeyedQueue {
  const running = new Map<string, Promise<void>>()
  const queued = new Set<string>()
  const turns = new Map<string, Set<Turn>>()
  const delays = new Map<string, AbortController>()
  const inOwnContext = AsyncLocalStorage.snapshot()
  let isClosed = false

  const runKey = async (key: string): Promise<void> => {
    for (let hadTurn = false; ; ) {
      const isDue = queued.has(key) && !isClosed
      const turn: Turn | null = hadTurn && isDue ? null : takeFirst(turns, key)
      hadTurn = turn !== null
      if (turn !== null) await turn()
      else if (!isDue) break
      else {
        queued.delete(key)
        await work(key).catch((error: unknown) => onError(key, error))
      }
    }
    running.delete(key)
  }
  const start = (key: string): void => {
    if (!running.has(key)) running.set(key, inOwnContext(runKey, key))
  }
  const add = (key: string): void => {
    if (isClosed) return
    delays.get(key)?.abort()
    delays.delete(key)
    queued.add(key)
    start(key)
  }
  return {
    add,
    addLater: (key, delayMs) => {
      if (isClosed || delays.has(key)) return
      const delay = new AbortController()
      delays.set(key, delay)
      void clock.sleep(delayMs, delay.signal).then(() => {
        // `add` replaces or ends a delay early.
        if (delays.get(key) === delay) add(key)
      })
    },
    exclusive: (key, turn, isOver) =>
      new Promise((resolve, reject) => {
        if (isClosed) {
          reject(new ServiceError('draining', 'The service is shutting down. Retry later.'))
          return
        }
        const waiting = turns.get(key) ?? new Set()
        const run = AsyncLocalStorage.bind((): Promise<void> => turn().then(resolve, reject))
        turns.set(key, waiting.add(run))
        void isOver.then(() => {
          // A turn that has begun is no longer in the set.
          if (waiting.delete(run)) reject(refusal('box_busy', ['Another step of the box is under way.', 'Try again.']))
        })
        start(key)
      }),
    counts: () => ({ running: running.size, waiting: new Set([...queued, ...turns.keys()]).size, later: delays.size }),
    close: async () => {
      isClosed = true
      for (const delay of delays.values()) delay.abort()
      delays.clear()
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
