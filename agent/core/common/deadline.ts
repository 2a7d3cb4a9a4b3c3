import { ServiceError } from '../../../shared/errors.ts'
import type { Clock } from '../../ports/host/clock.ts'

export interface DeadlineOptions {
  ms: number
  /** The beginning of the error's sentence, such as `The box did not start`. */
  what: string
  clock: Clock
  /** Called if the work succeeds after the deadline, since its effects exist then. */
  onLate(): void
}

/** Resolves as `work` does. @throws ServiceError `internal` after `ms` */
export async function withDeadline<T>(work: Promise<T>, options: DeadlineOptions): Promise<T> {
  const { ms, what, clock, onLate } = options
  const late = Symbol('late')
  const first = await withTimer({ clock, ms }, (over) => Promise.race([work, over.then((): typeof late => late)]))
  if (first !== late) return first
  work.then(onLate, () => undefined)
  throw new ServiceError('internal', `${what} within ${ms / 1000} s.`)
}

/** Runs `work` with a promise that resolves after `ms`, or when `signal` aborts. No timer outlives it. */
export async function withTimer<T>(
  { clock, ms, signal }: { clock: Clock; ms: number; signal?: AbortSignal },
  work: (over: Promise<void>) => Promise<T>,
): Promise<T> {
  const done = new AbortController()
  try {
    return await work(clock.sleep(ms, signal ? AbortSignal.any([signal, done.signal]) : done.signal))
  } finally {
    done.abort()
  }
}
