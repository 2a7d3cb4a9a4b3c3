/** Lets at most `limit` pieces of work run at once; the others wait in order. */
export interface Limiter {
  run<T>(work: () => Promise<T>): Promise<T>
}

/** A limiter of `limit` ≥ 1 places, first come first served. */
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
