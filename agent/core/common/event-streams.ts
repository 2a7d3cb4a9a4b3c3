import { asServiceError, ServiceError } from '../../../shared/errors.ts'
import { createFairShares } from '../../../shared/fair-shares.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { Caller } from './caller.ts'
import { encodeServerSentEvent, streamServerSentEvents } from './server-sent-events.ts'

export interface EventStreamsDeps {
  clock: Clock
  /** @throws ServiceError for a token that was revoked */
  checkAlive(tokenId: string): Promise<void>
}

/** What a stream is made of. */
export interface EventStreamSource {
  /** Waits a moment for what is next, and gives it as messages; empty where there is nothing, or the signal has ended the wait. */
  read(signal: AbortSignal): Promise<string>
  /** The id that a client goes on from, after what was read. */
  id(): string
}

/** Streams of messages of one kind, shared out among the tokens that read them. */
export interface EventStreams {
  /** Ends once these streams are closed. */
  closing: AbortSignal
  /**
   * What a source gives, as it is asked for, until it is read no further, the source or the token has an end, or the streams are
   * closed. Holds what was read at once and no more, whatever its reader does.
   * @throws ServiceError `rate_limited` where too many are open
   */
  open(caller: Caller, source: EventStreamSource): AsyncIterable<Uint8Array>
  /** Ends all, and those that come later at once. */
  close(): void
}

/** `atOnce` of all tokens; `kind` is what they are of, in the plural. */
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
  let toldAt = clock.now()
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
    if (messages === '' && clock.now() - toldAt < STILL_HERE_MS) continue
    toldAt = clock.now()
    yield messages || encodeServerSentEvent({ id: source.id() })
  }
}

function tooManyStreams(kind: string): ServiceError {
  return new ServiceError('rate_limited', `Too many streams of ${kind} are open.`, { headers: { 'Retry-After': '5' } })
}

const STILL_HERE_MS = 15_000
