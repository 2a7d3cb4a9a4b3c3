import { ServiceError } from '../../../shared/errors.ts'
import type { Clock } from '../../ports/host/clock.ts'

export interface DeadlineOptions {
  ms: number
  /** The beginning of the error's sentence, such as `The box did not start`. */
  what: string
  clock: Clock
  /** Called if the work succeeds after the deadline: what it did is in the world all the same. */
  onLate(): void
}

/** The outcome of `work`, or a rejection once `ms` are over. */
export async function withDeadline<T>(work: Promise<T>, options: DeadlineOptions): Promise<T> {
  const { ms, what, clock, onLate } = options
  const timer = new AbortController()
  const late = Symbol('late')
  const first = await Promise.race([work, clock.sleep(ms, timer.signal).then((): typeof late => late)]).finally(() =>
    timer.abort(),
  )
  if (first !== late) return first
  work.then(onLate, () => undefined)
  throw new ServiceError('internal', `${what} within ${ms / 1000} s.`)
}
