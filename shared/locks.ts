/** Runs pieces of work one at a time for each key, in the order of the calls. */
export interface KeyedLock {
  run<T>(key: string, work: () => Promise<T>): Promise<T>
}

/** Creates a lock by key; a key without waiters takes no memory. */
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

/** Lets at most `limit` pieces of work run at once; the others wait in order. */
export interface Limiter {
  run<T>(work: () => Promise<T>): Promise<T>
}

/** Creates a limiter of `limit` ≥ 1 slots, first come first served. */
export function createLimiter(limit: number): Limiter {
  let running = 0
  const waiting: (() => void)[] = []
  const enter = (): Promise<void> => {
    if (running < limit) {
      running += 1
      return Promise.resolve()
    }
    return new Promise((resolve) => waiting.push(resolve))
  }
  const leave = (): void => {
    const next = waiting.shift()
    if (next) next()
    else running -= 1
  }
  return {
    run: async (work) => {
      await enter()
      try {
        return await work()
      } finally {
        leave()
      }
    },
  }
}
