import type { Logger } from '../../shared/log.ts'

/** Cleanup functions by name: run last in, first out, each once, continuing past failures. */
export interface Closers {
  /** Runs `close` at once if the shutdown has begun. */
  add(name: string, close: () => Promise<void> | void): void
  /** Runs all of them, giving each `deadlineMs` at most. Later calls return the promise of the first. */
  run(deadlineMs: number): Promise<void>
}

/** Creates an empty list of closers. */
export function createClosers(logger: Logger): Closers {
  const closers: { name: string; close: () => Promise<void> | void }[] = []
  let ending: Promise<void> | null = null

  const runOne = async ({ name, close }: (typeof closers)[number], deadlineMs: number): Promise<void> => {
    const { promise: late, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => reject(new Error(`Closing took longer than ${deadlineMs} ms.`)), deadlineMs)
    try {
      await Promise.race([Promise.resolve().then(close), late])
    } catch (error) {
      logger.error('a part did not close', { part: name, error })
    } finally {
      clearTimeout(timer)
    }
  }
  const runAll = async (deadlineMs: number): Promise<void> => {
    for (let next = closers.pop(); next; next = closers.pop()) await runOne(next, deadlineMs)
  }
  return {
    add: (name, close) => {
      if (ending) void runOne({ name, close }, DEFAULT_DEADLINE_MS)
      else closers.push({ name, close })
    },
    run: (deadlineMs) => {
      ending ??= runAll(deadlineMs)
      return ending
    },
  }
}

const DEFAULT_DEADLINE_MS = 10_000
