/** Runs pieces of work one at a time for each key, in the order of the calls. */
export interface KeyedLock {
  run<T>(key: string, work: () => Promise<T>): Promise<T>
}

/** Creates a lock by key. A key without waiters takes no memory. */
export function createKeyedLock(): KeyedLock {
  const tails = new Map<string, Promise<unknown>>()
  return {
    run: (key, work) => {
      const before = tails.get(key)
      const result = before === undefined ? work() : before.then(work, work)
      const tail = result
        .catch(() => undefined)
        .then(() => {
          if (tails.get(key) === tail) tails.delete(key)
        })
      tails.set(key, tail)
      return result
    },
  }
}

/**
 * Creates a function that runs `work` once for all calls before that run begins, one run at a time. A call during a run gets the next run,
 * because the current one may have begun before the caller's change.
 */
export function shareRuns(work: () => Promise<unknown>): () => Promise<void> {
  let tail: Promise<void> = Promise.resolve()
  let queued: Promise<void> | undefined
  const begin = async (): Promise<void> => {
    queued = undefined
    await work()
  }
  return () => {
    if (queued === undefined) {
      queued = tail.then(begin)
      tail = queued.catch(() => undefined)
    }
    return queued
  }
}

/** Runs at most `limit` pieces of work at once. The others wait. Owners take turns, and the work of one owner runs in order. */
export interface Limiter {
  /** All work without an owner shares one. */
  run<T>(work: () => Promise<T>, owner?: string): Promise<T>
}

/** Creates a limiter of `limit` ≥ 1 slots. */
export function createLimiter(limit: number): Limiter {
  let running = 0
  // In the order of their turns.
  const waiting = new Map<string, (() => void)[]>()
  const enter = (owner: string): Promise<void> => {
    if (running < limit) {
      running += 1
      return Promise.resolve()
    }
    return new Promise((resolve) => {
      const queue = waiting.get(owner)
      if (queue) queue.push(resolve)
      else waiting.set(owner, [resolve])
    })
  }
  const leave = (): void => {
    const [turn] = waiting
    if (turn === undefined) {
      running -= 1
      return
    }
    const [owner, [next, ...later]] = turn
    waiting.delete(owner)
    if (later.length > 0) waiting.set(owner, later)
    next?.()
  }
  return {
    run: async (work, owner = '') => {
      await enter(owner)
      try {
        return await work()
      } finally {
        leave()
      }
    },
  }
}
