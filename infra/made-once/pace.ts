import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../agent/ports/host/clock.ts'

/** Interval of the lines for a waiting user. */
export const SAY_MS = 30_000

/** The real time. */
export const hostClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => undefined),
}

/** Formats a duration for people, such as `40 s` or `12 min`. */
export function describeDuration(ms: number): string {
  return ms < 2 * 60_000 ? `${Math.round(ms / 1000)} s` : `${Math.floor(ms / 60_000)} min`
}
