import type { ServiceLogsQuery } from '../../../shared/schemas/services.ts'
import type { Caller } from '../common/caller.ts'
import { createEventStreams, type EventStreamSource, type EventStreamsDeps } from '../common/event-streams.ts'
import { encodeServerSentEvent } from '../common/server-sent-events.ts'
import { encodeOutput } from '../exec/text.ts'
import { type LoggedService, readLogs, type ServiceLogsDeps } from './logs.ts'
import type { ObservedService } from './observer.ts'

/** Logs of services as they come. */
export interface LogStreams {
  /**
   * Pieces of a log as messages, whose id is the offset to go on from, until it is read no further, the service or its token is
   * gone, or the streams are closed.
   * @throws ServiceError `rate_limited` where too many are open
   */
  follow(caller: Caller, service: LoggedService, query: ServiceLogsQuery): AsyncIterable<Uint8Array>
  /** Ends all, and those that come later at once. */
  close(): void
}

/** Each holds one piece, whatever its reader does: the next is read when it is asked for. */
export function createLogStreams(deps: ServiceLogsDeps & EventStreamsDeps): LogStreams {
  const streams = createEventStreams(deps, { kind: 'logs', atOnce: LOG_STREAMS_AT_ONCE })
  return {
    follow: (caller, service, query) => streams.open(caller, sourceOf(deps, service, query)),
    close: () => streams.close(),
  }
}

function sourceOf(
  deps: ServiceLogsDeps,
  { sight: first, see }: LoggedService,
  query: ServiceLogsQuery,
): EventStreamSource {
  let seen: ObservedService | null = first
  let { offset } = query
  const id = (): string => String(offset ?? 0)
  return {
    read: async () => {
      const wait = offset === undefined ? 0 : LOOK_SECONDS
      const sight = seen ?? (await see())
      seen = null
      const piece = await readLogs(deps, { sight, see }, { ...query, offset, wait_seconds: wait })
      offset = piece.offset + piece.bytes.length
      return piece.bytes.length === 0 ? '' : encodeServerSentEvent({ id: id(), data: viewPiece(piece, query) })
    },
    id,
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

const LOOK_SECONDS = 1
/** Of all tokens. */
export const LOG_STREAMS_AT_ONCE = 256
