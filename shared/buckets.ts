/** The rate of buckets. `now` is in milliseconds. */
export interface BucketOptions {
  perSecond: number
  /** Size of a full bucket. Both are read at each use, so that they can change. */
  burst: number
  clock: { now(): number }
}

/** One token bucket per key. Keeps the `BUCKETS_MAX` keys used last. */
export interface Buckets {
  /** Whole seconds, at least 1, until a request of the key is allowed, or null if it is allowed now. */
  waitOf(key: string): number | null
  /** Takes tokens from the bucket, by default one. Tokens that the bucket lacks become a debt. */
  take(key: string, amount?: number): void
  /** Adds no tokens for the time since the bucket's last use. */
  skip(key: string): void
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
  const set = (key: string, left: number, at: number): void => {
    buckets.delete(key)
    buckets.set(key, { left, at })
    if (buckets.size > BUCKETS_MAX) buckets.delete(buckets.keys().next().value ?? '')
  }
  return {
    waitOf: (key) => {
      const left = leftOf(key, clock.now())
      return left >= 1 ? null : Math.max(1, Math.ceil((1 - left) / options.perSecond))
    },
    take: (key, amount = 1) => {
      const now = clock.now()
      const left = leftOf(key, now)
      set(key, left >= 1 ? left - amount : left, now)
    },
    skip: (key) => set(key, buckets.get(key)?.left ?? options.burst, clock.now()),
  }
}

/** Keys that are remembered. */
export const BUCKETS_MAX = 10_000
