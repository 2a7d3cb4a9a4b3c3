import { ServiceError } from '../../../shared/errors.ts'
import type { Clock } from '../../ports/host/clock.ts'

/** Counts one request of `key`. */
export type RateLimit = (key: string) => void

export interface BucketOptions {
  perSecond: number
  /** Size of a full bucket. Both are read at each use, so that they may change. */
  burst: number
  clock: Clock
}

/** One token bucket per key; keeps the `CAPACITY` keys used last. */
export interface Buckets {
  /** Whole seconds, at least 1, until a request of the key is allowed; null: now. */
  waitOf(key: string): number | null
  /** Takes a token from the bucket, if there is one. */
  take(key: string): void
}

/** Creates buckets, all full. */
export function createBuckets(options: BucketOptions): Buckets {
  const { clock } = options
  const buckets = new Map<string, { left: number; at: number }>()
  const leftOf = (key: string, now: number): number => {
    const bucket = buckets.get(key)
    if (bucket === undefined) return options.burst
    return Math.min(options.burst, bucket.left + (Math.max(0, now - bucket.at) / 1000) * options.perSecond)
  }
  return {
    waitOf: (key) => {
      const left = leftOf(key, clock.now())
      return left >= 1 ? null : Math.max(1, Math.ceil((1 - left) / options.perSecond))
    },
    take: (key) => {
      const now = clock.now()
      const left = leftOf(key, now)
      buckets.delete(key)
      buckets.set(key, { left: left >= 1 ? left - 1 : left, at: now })
      if (buckets.size > CAPACITY) buckets.delete(buckets.keys().next().value ?? '')
    },
  }
}

/**
 * Creates a limit per key: `perSecond` requests, with bursts of `burst`. The returned function throws ServiceError `rate_limited` with
 * `Retry-After` and `RateLimit`.
 */
export function createRateLimit(options: BucketOptions): RateLimit {
  const buckets = createBuckets(options)
  return (key) => {
    const seconds = buckets.waitOf(key)
    buckets.take(key)
    if (seconds === null) return
    const detail = `More than ${options.perSecond} requests a second; try again in ${seconds} s.`
    throw rateLimited(detail, seconds)
  }
}

/** Creates the error for too many requests, to be retried after `seconds`. */
export function rateLimited(detail: string, seconds: number): ServiceError {
  return new ServiceError('rate_limited', detail, {
    headers: { 'Retry-After': String(seconds), RateLimit: `"default";r=0;t=${seconds}` },
  })
}

const CAPACITY = 10_000
