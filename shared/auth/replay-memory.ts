/** The outcome of remembering a nonce. On `full` the memory could not keep it, so the caller must refuse. */
export type Remembered = 'new' | 'known' | 'full'

export interface ReplayMemory {
  /** Keeps `nonce` until `sentAt` is more than the lifetime ago. Both times are milliseconds since the epoch. */
  remember(nonce: string, at: { sentAt: number; now: number }): Remembered
  /** Number of nonces kept now. */
  size(): number
}

/** Creates a bounded memory of nonces. It has a bucket for each second of sending, and drops a bucket once that second is too old. */
export function createReplayMemory(options: { lifetimeMs: number; capacity: number }): ReplayMemory {
  const buckets = new Map<number, Set<string>>()
  let size = 0
  let prunedAt = Number.NEGATIVE_INFINITY
  const prune = (now: number): void => {
    for (const [second, nonces] of buckets) {
      if ((second + 1) * 1000 + options.lifetimeMs >= now) continue
      buckets.delete(second)
      size -= nonces.size
    }
    prunedAt = now
  }
  return {
    remember: (nonce, { sentAt, now }) => {
      if (Math.abs(now - prunedAt) >= 1000) prune(now)
      const second = Math.floor(sentAt / 1000)
      const bucket = buckets.get(second) ?? new Set()
      if (bucket.has(nonce)) return 'known'
      if (size >= options.capacity) return 'full'
      buckets.set(second, bucket.add(ownCopy(nonce)))
      size++
      return 'new'
    },
    size: () => size,
  }
}

/** Copies a text, because a slice keeps all of a longer string in memory. */
function ownCopy(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1')
}
