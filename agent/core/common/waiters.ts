import type { ActorContext } from '../../ports/store/events.ts'
import { turnsOf } from './turns.ts'

/** Lets requests wait for a record to change. */
export interface Waiters {
  /** Wakes all that wait for `key`. */
  notify(key: string): void
  /** Calls `listener` at each notice, with its key. At most one listener. */
  onNotify(listener: (key: string) => void): void
  /** Reads, and again in turn at each notice of `key`, until `isDone` or `timeout` resolves. Resolves to the last reading. */
  until<T>(key: string, condition: WaitCondition<T>): Promise<T>
}

export interface WaitCondition<T> {
  read(): Promise<T>
  isDone(value: T): boolean
  timeout: Promise<void>
}

/** Keeps waiters by key in memory. Bounded by the requests under way, which `context` knows. Without one they take no turns. */
export function createWaiters(context: Pick<ActorContext, 'current'> = NOBODY): Waiters {
  const waiting = new Map<string, Set<() => void>>()
  let onNotify: (key: string) => void = () => undefined
  const nextNotice = (key: string): { promise: Promise<void>; cancel(): void } => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const set = waiting.get(key) ?? new Set()
    waiting.set(key, set.add(resolve))
    const cancel = (): void => {
      set.delete(resolve)
      if (set.size === 0 && waiting.get(key) === set) waiting.delete(key)
    }
    return { promise, cancel }
  }
  return {
    notify: (key) => {
      const set = waiting.get(key)
      waiting.delete(key)
      for (const resolve of set ?? []) resolve()
      onNotify(key)
    },
    onNotify: (listener) => {
      onNotify = listener
    },
    until: async (key, { read, isDone, timeout }) => {
      const inTurn = turnsOf(context)
      let isOver = false
      const over = timeout.then(() => {
        isOver = true
      })
      // Subscribes before reading, so that no change falls between.
      const look = async () => ({ notice: nextNotice(key), value: await read() })
      for (let looked = await look(); ; looked = await inTurn(look)) {
        const { notice, value } = looked
        if (isOver || isDone(value)) {
          notice.cancel()
          return value
        }
        await Promise.race([notice.promise, over])
        notice.cancel()
      }
    },
  }
}

const NOBODY = { current: () => null }
