import { createBuckets } from '../../../shared/buckets.ts'
import { sourceKey } from '../../../shared/http/source-key.ts'
import type { Clock } from '../../ports/host/clock.ts'
import { rateLimited } from '../access/rate-limit.ts'

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
      const seconds = buckets.waitOf(sourceKey(clientAddress))
      if (seconds !== null) throw rateLimited('Too many wrong credentials came from this address.', seconds)
    },
    countFailure: (clientAddress) => buckets.take(sourceKey(clientAddress)),
  }
}
