import type { Clock } from '../../agent/ports/host/clock.ts'

/** Creates a clock that only `advance` moves; `sleeps` returns the number of sleeps begun. */
export function createFakeTime(): { clock: Clock; advance(ms: number): void; sleeps(): number } {
  let now = Date.now()
  let sleeps = 0
  const sleepers = new Set<{ at: number; wake(): void }>()
  return {
    sleeps: () => sleeps,
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
