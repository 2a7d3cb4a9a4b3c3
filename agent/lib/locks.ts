/** Runs pieces of work one at a time for each key, in the order of the calls. */
export interface KeyedLock {
  run<T>(key: string, work: () => Promise<T>): Promise<T>
}

/** A lock by key; keys nobody waits for take no memory. */
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

/** Runs at most `limit` pieces of work at once; the others wait in the order of the calls. */
export function createGate(limit: number): { run<T>(work: () => Promise<T>): Promise<T> } {
  const waiting: (() => void)[] = []
  let running = 0
  return {
    async run(work) {
      if (running >= limit) await new Promise<void>((resolve) => waiting.push(resolve))
      else running++
      try {
        return await work()
      } finally {
        // The place is handed on, so that nobody who comes later takes it first.
        const next = waiting.shift()
        if (next === undefined) running--
        else next()
      }
    },
  }
}
