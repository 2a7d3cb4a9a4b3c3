/** Wakes those who wait for a record to change. */
export interface Waiters {
  notify(key: string): void
  /** Reads until `isDone`, again at each notice of `key`; when `timeout` resolves, the last reading. */
  until<T>(key: string, wish: WaitCondition<T>): Promise<T>
}

export interface WaitCondition<T> {
  read(): Promise<T>
  isDone(value: T): boolean
  timeout: Promise<void>
}

/** Waiters by key, in memory; bounded by the requests under way. */
export function createWaiters(): Waiters {
  const waiting = new Map<string, Set<() => void>>()
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
    },
    until: async (key, { read, isDone, timeout }) => {
      let isOver = false
      const over = timeout.then(() => {
        isOver = true
      })
      for (;;) {
        // Subscribed before reading, so that no change falls between.
        const notice = nextNotice(key)
        const value = await read()
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
