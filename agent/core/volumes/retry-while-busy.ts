import { type ErrorCode, ServiceError } from '../../../shared/errors.ts'
import type { Clock } from '../../ports/host/clock.ts'

export interface BusyRetryOptions {
  clock: Clock
  /** Codes of transient errors. */
  codes: readonly ErrorCode[]
  /** When the last attempt begins, ms since the epoch. */
  deadline: number
  signal?: AbortSignal | undefined
}

/**
 * Repeats `attempt`, with the ms left until the deadline, while it fails with one of `codes`. Pauses in between, so that a stop
 * or a delete of a box is never held up.
 * @throws any other error of `attempt`, its last failure at the deadline, and the reason of `signal`
 */
export async function retryWhileBusy<T>(
  attempt: (restMs: number) => Promise<T>,
  { clock, codes, deadline, signal }: BusyRetryOptions,
): Promise<T> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LAST_PAUSE_MS)) {
    signal?.throwIfAborted()
    const restMs = deadline - clock.now()
    try {
      return await attempt(Math.max(restMs, 0))
    } catch (error) {
      const mayPass = error instanceof ServiceError && codes.includes(error.code)
      if (!mayPass || restMs <= 0) throw error
      await clock.sleep(Math.min(pauseMs, restMs), signal)
    }
  }
}

const FIRST_PAUSE_MS = 5
const LAST_PAUSE_MS = 200
