import { type BucketOptions, createBuckets } from '../../../shared/buckets.ts'
import type { ServiceError } from '../../../shared/errors.ts'
import { refusal } from '../../../shared/refusals.ts'

/** Counts one request of `key`. */
export type RateLimit = (key: string) => void

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
    const why = `More than ${options.perSecond} requests a second.`
    throw rateLimited(why, seconds)
  }
}

/** Creates the error for too many requests, to be retried after `seconds`. */
export function rateLimited(why: string, seconds: number): ServiceError {
  return refusal('rate_limited', [why, `Try again in ${seconds} s.`], {
    headers: { 'Retry-After': String(seconds), RateLimit: `"default";r=0;t=${seconds}` },
  })
}
