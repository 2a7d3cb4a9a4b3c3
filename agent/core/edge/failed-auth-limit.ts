import type { Clock } from '../../ports/host/clock.ts'
import { createBuckets, rateLimited } from '../access/rate-limit.ts'

/** Limits failed authentication per client network. */
export interface FailedAuthLimit {
  /** Call before verifying any credential. @throws ServiceError `rate_limited` after too many failures, also for a valid one */
  check(clientAddress: string): void
  /** Counts one failure. */
  countFailure(clientAddress: string): void
}

/** Allows a burst of 60 failures and one per second, and tracks the 10,000 networks that failed last. */
export function createFailedAuthLimit({ clock }: { clock: Clock }): FailedAuthLimit {
  const buckets = createBuckets({ perSecond: 1, burst: 60, clock })
  return {
    check: (clientAddress) => {
      const seconds = buckets.waitOf(clientNetworkOf(clientAddress))
      if (seconds !== null) throw rateLimited(`Too many wrong credentials; try again in ${seconds} s.`, seconds)
    },
    countFailure: (clientAddress) => buckets.take(clientNetworkOf(clientAddress)),
  }
}

/** Returns the unit that failures are counted by: an IPv4 address, or the /64 network of an IPv6 address. */
export function clientNetworkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined || !address.includes(':')) return mapped ?? address
  const [head = '', tail = ''] = address.toLowerCase().split('::', 2)
  const left = head.split(':').filter(Boolean)
  const right = tail.split(':').filter(Boolean)
  const zeros = address.includes('::')
    ? Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => '0')
    : []
  return [...left, ...zeros, ...right].slice(0, 4).join(':')
}
