/** The rate of buckets; `now` is in milliseconds. */
export interface BucketOptions {
  perSecond: number
  /** Size of a full bucket. Both are read at each use, so that they may change. */
  burst: number
  clock: { now(): number }
}

/** One token bucket per key; keeps the `BUCKETS_MAX` keys used last. */
export interface Buckets {
  /** Whole seconds, at least 1, until a request of the key is allowed; null: now. */
  waitOf(key: string): number | null
  /** Takes tokens from the bucket, one by default, if there is one; those that it lacks are owed. */
  take(key: string, amount?: number): void
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
    take: (key, amount = 1) => {
      const now = clock.now()
      const left = leftOf(key, now)
      buckets.delete(key)
      buckets.set(key, { left: left >= 1 ? left - amount : left, at: now })
      if (buckets.size > BUCKETS_MAX) buckets.delete(buckets.keys().next().value ?? '')
    },
  }
}

/** Keys that are remembered. */
export const BUCKETS_MAX = 10_000
