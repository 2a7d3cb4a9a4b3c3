import type { Clock } from '../../agent/ports/host/clock.ts'

/** A clock that moves only with `advance`. */
export interface FakeTime {
  clock: Clock
  advance(ms: number): void
  /** Number of sleeps started. */
  sleeps(): number
  /** Milliseconds until the next sleep ends, or null without one. */
  untilNext(): number | null
}

/** Creates a clock that stays at `now` until `advance` moves it. */
export function createFakeTime(now = Date.now()): FakeTime {
  let sleeps = 0
  const sleepers = new Set<{ at: number; wake(): void }>()
  return {
    sleeps: () => sleeps,
    untilNext: () => (sleepers.size === 0 ? null : Math.min(...[...sleepers].map(({ at }) => at)) - now),
    advance: (ms) => {
      now += ms
      for (const { at, wake } of [...sleepers]) if (at <= now) wake()
    },
    clock: {
      now: () => now,
      sleep: (ms, signal) => {
        sleeps++
        const { promise, resolve } = Promise.withResolvers<void>()
        const sleeper = { at: now + ms, wake: resolve }
        sleepers.add(sleeper)
        signal?.addEventListener('abort', () => resolve(), { once: true })
        if (signal?.aborted) resolve()
        return promise.finally(() => sleepers.delete(sleeper))
      },
    },
  }
}
