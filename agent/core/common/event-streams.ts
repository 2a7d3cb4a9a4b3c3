import { asServiceError, ServiceError } from '../../../shared/errors.ts'
import { createFairShares } from '../../../shared/fair-shares.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { Caller } from './caller.ts'

export interface EventStreamsDeps {
  clock: Clock
  /** @throws ServiceError for a token that was revoked */
  checkAlive(tokenId: string): Promise<void>
}

/** The source of a stream. */
export interface EventStreamSource {
  /** Waits a moment for new messages and returns them; empty if there are none, or the signal has ended the wait. */
  read(signal: AbortSignal): Promise<string>
  /** The id from which a client resumes after the messages read so far. */
  id(): string
}

/** Streams of messages of one kind, shared fairly among the tokens that read them. */
export interface EventStreams {
  /** Aborts when these streams are closed. */
  closing: AbortSignal
  /**
   * Streams the messages of a source on demand, until the reader leaves, the source fails, the token ends, or the streams are
   * closed. Buffers the result of one read at most.
   * @throws ServiceError `rate_limited` if too many are open
   */
  open(caller: Caller, source: EventStreamSource): AsyncIterable<Uint8Array>
  /** Ends all streams, and each opened later at once. */
  close(): void
}

/** `atOnce` bounds the streams of all tokens together; `kind` is the noun of the error message, in the plural. */
export function createEventStreams(
  deps: EventStreamsDeps,
  { kind, atOnce }: { kind: string; atOnce: number },
): EventStreams {
  const shares = createFairShares(atOnce)
  const closing = new AbortController()
  return {
    closing: closing.signal,
    open: ({ tokenId }, source) => {
      const leave = shares.take(tokenId)
      if (leave === null) throw tooManyStreams(kind)
      const until = (signal: AbortSignal): AbortSignal => AbortSignal.any([signal, closing.signal])
      return streamServerSentEvents((signal) => messagesOf(source, { ...deps, tokenId, signal: until(signal) }), leave)
    },
    close: () => closing.abort(),
  }
}

async function* messagesOf(
  source: EventStreamSource,
  { clock, checkAlive, tokenId, signal }: EventStreamsDeps & { tokenId: string; signal: AbortSignal },
) {
  yield 'retry: 1000\n\n'
  let sentAt = clock.now()
  while (!signal.aborted) {
    let messages: string
    try {
      await checkAlive(tokenId)
      messages = await source.read(signal)
    } catch (error) {
      const { code, message: detail } = asServiceError(error)
      yield encodeServerSentEvent({ id: source.id(), event: 'problem', data: { code, detail } })
      return
    }
    if (messages === '' && clock.now() - sentAt < STILL_HERE_MS) continue
    sentAt = clock.now()
    yield messages || encodeServerSentEvent({ id: source.id() })
  }
}

function tooManyStreams(kind: string): ServiceError {
  return new ServiceError('rate_limited', `Too many streams of ${kind} are open.`, { headers: { 'Retry-After': '5' } })
}

/** One message of an event stream; without data it only advances the id from which a client resumes. */
export interface ServerSentEvent {
  id: string
  /** Default: `message`. */
  event?: string
  data?: unknown
}

/** Encodes a message on one `data` line: JSON has no line breaks. */
export function encodeServerSentEvent({ id, event, data }: ServerSentEvent): string {
  const name = event === undefined ? '' : `event: ${event}\n`
  return data === undefined ? `id: ${id}\n: still here\n\n` : `id: ${id}\n${name}data: ${JSON.stringify(data)}\n\n`
}

/** Streams the pieces of `make`. Aborts its signal as soon as the reader leaves, and calls `onEnd` once. */
export function streamServerSentEvents(
  make: (signal: AbortSignal) => AsyncGenerator<string>,
  onEnd: () => void,
): AsyncIterable<Uint8Array> & AsyncIterator<Uint8Array> {
  const end = new AbortController()
  end.signal.addEventListener('abort', onEnd, { once: true })
  const pieces = make(end.signal)
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    next: async () => {
      try {
        const step = await pieces.next()
        if (step.done !== true) return { done: false, value: Buffer.from(step.value) }
      } catch (error) {
        end.abort()
        throw error
      }
      end.abort()
      return { done: true, value: undefined }
    },
    return: async () => {
      end.abort()
      await pieces.return(undefined)
      return { done: true, value: undefined }
    },
  }
}

const STILL_HERE_MS = 15_000
