/** Runs work by key: one run of a key at a time, and one more if it was asked for meanwhile. */
export interface KeyedQueue {
  /** Asks for a run of `key`. */
  add(key: string): void
  /** Asks for a run of `key` after `delayMs`, unless one is asked for before; ends with the queue. */
  addLater(key: string, delayMs: number): void
  /** Takes no more work, and resolves when what runs has ended. */
  close(): Promise<void>
}

export interface KeyedQueueDeps {
  work(key: string): Promise<void>
  /** `work` rejected, which it should not. */
  onError(key: string, error: unknown): void
}

/** An unbounded set of keys: what it holds is bounded by the resources that exist. */
export function createKeyedQueue({ work, onError }: KeyedQueueDeps): KeyedQueue {
  const running = new Map<string, Promise<void>>()
  const again = new Set<string>()
  const timers = new Map<string, NodeJS.Timeout>()
  let isClosed = false

  const runKey = async (key: string): Promise<void> => {
    do {
      again.delete(key)
      try {
        await work(key)
      } catch (error) {
        onError(key, error)
      }
    } while (again.has(key) && !isClosed)
    running.delete(key)
  }
  const add = (key: string): void => {
    if (isClosed) return
    clearTimeout(timers.get(key))
    timers.delete(key)
    if (running.has(key)) again.add(key)
    else running.set(key, runKey(key))
  }
  return {
    add,
    addLater: (key, delayMs) => {
      if (isClosed || timers.has(key)) return
      const timer = setTimeout(() => add(key), delayMs)
      timer.unref()
      timers.set(key, timer)
    },
    close: async () => {
      isClosed = true
      for (const timer of timers.values()) clearTimeout(timer)
      timers.clear()
      await Promise.all(running.values())
    },
  }
}
