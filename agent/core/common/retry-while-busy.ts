import { type ErrorCode, ServiceError } from '../../../shared/errors.ts'
import type { Clock } from '../../ports/host/clock.ts'

export interface BusyRetryOptions {
  clock: Clock
  /** What passes when others are done. */
  codes: readonly ErrorCode[]
  /** Of the last attempt, ms since the epoch. */
  deadline: number
  signal?: AbortSignal | undefined
}

/**
 * Repeats `attempt`, which is told how long it may still wait, while it fails with one of `codes`. Between the attempts others
 * may have their turn, so that a stop or a delete of a box is never held up.
 * @throws whatever else `attempt` throws, its last failure at the deadline, and the reason of `signal`
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
      const isPassing = error instanceof ServiceError && codes.includes(error.code)
      if (!isPassing || restMs <= 0) throw error
      await clock.sleep(Math.min(pauseMs, restMs), signal)
    }
  }
}

const FIRST_PAUSE_MS = 5
const LAST_PAUSE_MS = 200
