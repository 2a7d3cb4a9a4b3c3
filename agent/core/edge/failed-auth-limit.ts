import type { Clock } from '../../ports/host/clock.ts'
import { createBuckets, rateLimited } from '../access/rate-limit.ts'
import { guesserOf } from './request.ts'

/** Credentials that were none, by the address they came from. */
export interface FailedAuthLimit {
  /** @throws ServiceError `rate_limited` where too many were wrong: not even a good one is looked at then */
  check(clientAddress: string): void
  /** One was wrong. */
  note(clientAddress: string): void
}

/** Forgives 60 at once and one a second; remembers the 10,000 addresses that guessed last. */
export function createFailedAuthLimit({ clock }: { clock: Clock }): FailedAuthLimit {
  const buckets = createBuckets({ perSecond: 1, burst: 60, clock })
  return {
    check: (clientAddress) => {
      const seconds = buckets.waitOf(guesserOf(clientAddress))
      if (seconds !== null) throw rateLimited(`Too many wrong credentials; try again in ${seconds} s.`, seconds)
    },
    note: (clientAddress) => buckets.take(guesserOf(clientAddress)),
  }
}
