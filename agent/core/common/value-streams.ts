import { asServiceError, type ServiceError } from '../../../shared/errors.ts'
import { createFairShares } from '../../../shared/fair-shares.ts'
import { refusal } from '../../../shared/refusals.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { Caller } from './caller.ts'

export interface ValueStreamsDeps {
  clock: Clock
}

/** A value of a stream, with the cursor from which a client resumes after it. */
export interface StreamedValue<T> {
  cursor: string
  /** Name of its message. A plain message has none. */
  name?: string
  value: T
}

/** The source of a stream. */
export interface ValueSource<T> {
  /** Waits a moment for new values and returns them. Empty if there are none, or the signal has ended the wait. */
  read(signal: AbortSignal): Promise<readonly StreamedValue<T>[]>
  /** The cursor from which a client resumes after the values read so far. */
  cursor(): string
}

/** One step of a stream: values, or only the cursor after a while without values, or the error that ended it. */
export type StreamStep<T> =
  | { kind: 'values'; values: readonly StreamedValue<T>[] }
  | { kind: 'waiting'; cursor: string }
  | { kind: 'failed'; cursor: string; error: ServiceError }

/** A stream as a reader sees it. A reader that leaves calls `return`, even while `next` is pending. */
export interface ValueStream<T> {
  next(): Promise<IteratorResult<StreamStep<T>, undefined>>
  return(): Promise<void>
}

/** Streams of values of one kind, shared fairly among the projects and tokens that read them. */
export interface ValueStreams<T> {
  /** Aborts when these streams are closed. */
  closing: AbortSignal
  /**
   * Streams the values of a source on demand, until the reader leaves, the source fails, or the streams are closed. Buffers the result of one read at most.
   * @throws ServiceError `rate_limited` if too many are open
   */
  open(caller: Caller, source: ValueSource<T>): ValueStream<T>
  /**
   * Counts a read of the caller among the streams. Returns its end.
   * @throws ServiceError `rate_limited` as `open`
   */
  enter(caller: Caller): () => void
  /** Ends all streams, and each opened later at once. */
  close(): void
}

/** `atOnce` limits the streams of all tokens together. `kind` is the noun of the error message, in the plural. */
export function createValueStreams<T>(
  deps: ValueStreamsDeps,
  { kind, atOnce }: { kind: string; atOnce: number },
): ValueStreams<T> {
  const shares = createFairShares(atOnce)
  const closing = new AbortController()
  const enter = ({ accounts }: Caller): (() => void) => {
    const leave = shares.take(accounts)
    if (leave === null) throw tooManyStreams(kind)
    return leave
  }
  return {
    closing: closing.signal,
    enter,
    open: (caller, source) => {
      const leave = enter(caller)
      const end = new AbortController()
      end.signal.addEventListener('abort', leave, { once: true })
      const signal = AbortSignal.any([end.signal, closing.signal])
      return endingWith(end, stepsOf(source, { ...deps, signal }))
    },
    close: () => closing.abort(),
  }
}

async function* stepsOf<T>(
  source: ValueSource<T>,
  { clock, signal }: ValueStreamsDeps & { signal: AbortSignal },
): AsyncGenerator<StreamStep<T>, undefined> {
  let sentAt = clock.now()
  while (!signal.aborted) {
    let values: readonly StreamedValue<T>[]
    try {
      values = await source.read(signal)
    } catch (error) {
      yield { kind: 'failed', cursor: source.cursor(), error: asServiceError(error) }
      return
    }
    if (values.length === 0 && clock.now() - sentAt < STILL_WAITING_MS) continue
    sentAt = clock.now()
    yield values.length > 0 ? { kind: 'values', values } : { kind: 'waiting', cursor: source.cursor() }
  }
}

// Aborts `end` once the steps have ended, and as soon as the reader leaves. A generator would end its pending step first.
function endingWith<T>(end: AbortController, steps: AsyncGenerator<StreamStep<T>, undefined>): ValueStream<T> {
  return {
    next: async () => {
      try {
        const step = await steps.next()
        if (step.done === true) end.abort()
        return step
      } catch (error) {
        end.abort()
        throw error
      }
    },
    return: async () => {
      end.abort()
      await steps.return(undefined)
    },
  }
}

function tooManyStreams(kind: string): ServiceError {
  return refusal('rate_limited', [`Too many streams of ${kind} are open.`, 'End some, or try again in 5 s.'], {
    headers: { 'Retry-After': '5' },
  })
}

const STILL_WAITING_MS = 15_000
