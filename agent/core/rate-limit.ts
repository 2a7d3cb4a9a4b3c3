import { ServiceError } from '../../shared/errors.ts'
import type { Clock } from '../ports/clock.ts'

/** Counts a request of `key`. */
export type RateLimit = (key: string) => void

/**
 * A token bucket for each key: `perSecond` requests, `burst` at once. Remembers the `CAPACITY` keys used last.
 * The returned function throws ServiceError `rate_limited` with `Retry-After` and `RateLimit`.
 */
export function createRateLimit(options: { perSecond: number; burst: number; clock: Clock }): RateLimit {
  const { perSecond, burst, clock } = options
  const buckets = new Map<string, { left: number; at: number }>()
  return (key) => {
    const now = clock.now()
    const bucket = buckets.get(key) ?? { left: burst, at: now }
    bucket.left = Math.min(burst, bucket.left + (Math.max(0, now - bucket.at) / 1000) * perSecond)
    bucket.at = now
    buckets.delete(key)
    buckets.set(key, bucket)
    if (buckets.size > CAPACITY) buckets.delete(buckets.keys().next().value ?? '')
    if (bucket.left >= 1) {
      bucket.left -= 1
      return
    }
    const seconds = Math.max(1, Math.ceil((1 - bucket.left) / perSecond))
    throw new ServiceError('rate_limited', `More than ${perSecond} requests a second; try again in ${seconds} s.`, {
      headers: { 'Retry-After': String(seconds), RateLimit: `"default";r=0;t=${seconds}` },
    })
  }
}

const CAPACITY = 10_000
