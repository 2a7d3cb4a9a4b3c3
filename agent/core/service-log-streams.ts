import { asServiceError, ServiceError } from '../../shared/errors.ts'
import { createFairShares } from '../../shared/fair-shares.ts'
import type { ServiceLogsQuery } from '../../shared/schemas/services.ts'
import type { Caller } from './caller.ts'
import { encodeOutput } from './exec-text.ts'
import { encodeSentEvent, sentEvents } from './server-sent-events.ts'
import { readLogs, type ServiceLogsDeps } from './service-logs.ts'
import type { ServiceSight } from './service-supervisor.ts'

export interface LogStreamsDeps extends ServiceLogsDeps {
  /** @throws ServiceError for a token that was revoked */
  checkAlive(tokenId: string): Promise<void>
}

/** Logs of services as they come. */
export interface LogStreams {
  /**
   * Pieces of a log as messages, whose id is the offset to go on from, until it is read no further, the service or its token is
   * gone, or the streams are closed. `see` is asked at each look.
   * @throws ServiceError `rate_limited` where too many are open
   */
  follow(caller: Caller, see: () => Promise<ServiceSight>, query: ServiceLogsQuery): AsyncIterable<Uint8Array>
  /** Ends all, and those that come later at once. */
  close(): void
}

/** Each holds one piece, whatever its reader does: the next is read when it is asked for. */
export function createLogStreams(deps: LogStreamsDeps): LogStreams {
  const shares = createFairShares(LOG_STREAMS_AT_ONCE)
  const closing = new AbortController()
  return {
    follow: (caller, see, query) => {
      const leave = shares.take(caller.tokenId)
      if (leave === null) throw tooManyStreams()
      const until = (signal: AbortSignal): AbortSignal => AbortSignal.any([signal, closing.signal])
      return sentEvents((signal) => streamOf(deps, { caller, see, query, signal: until(signal) }), leave)
    },
    close: () => closing.abort(),
  }
}

interface Following {
  caller: Caller
  see(): Promise<ServiceSight>
  query: ServiceLogsQuery
  signal: AbortSignal
}

async function* streamOf(deps: LogStreamsDeps, { caller, see, query, signal }: Following) {
  const { clock } = deps
  yield 'retry: 1000\n\n'
  let toldAt = clock.now()
  for (let { offset } = query; !signal.aborted; ) {
    try {
      await deps.checkAlive(caller.tokenId)
      const piece = await readLogs(deps, see, {
        ...query,
        offset,
        wait_seconds: offset === undefined ? 0 : LOOK_SECONDS,
      })
      offset = piece.offset + piece.bytes.length
      const isQuiet = piece.bytes.length === 0
      if (isQuiet && clock.now() - toldAt < STILL_HERE_MS) continue
      toldAt = clock.now()
      yield encodeSentEvent({ id: String(offset), ...(isQuiet ? {} : { data: viewPiece(piece, query) }) })
    } catch (error) {
      const { code, message: detail } = asServiceError(error)
      yield encodeSentEvent({ id: String(offset ?? 0), event: 'problem', data: { code, detail } })
      return
    }
  }
}

/** A piece of a log as clients get it. */
export function viewPiece(
  { offset, bytes, isTruncated }: Awaited<ReturnType<typeof readLogs>>,
  { encoding }: Pick<ServiceLogsQuery, 'encoding'>,
) {
  const data = encodeOutput(bytes, encoding)
  return { offset, next_offset: offset + bytes.length, data, encoding, truncated: isTruncated }
}

function tooManyStreams(): ServiceError {
  return new ServiceError('rate_limited', 'Too many streams of logs are open.', { headers: { 'Retry-After': '5' } })
}

const LOOK_SECONDS = 1
const STILL_HERE_MS = 15_000
/** Of all tokens. */
export const LOG_STREAMS_AT_ONCE = 256
