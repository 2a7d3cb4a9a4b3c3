import type { ServiceLogsQuery } from '../../../shared/schemas/services.ts'
import type { ExecOutputs } from '../../ports/exec/outputs.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { ActorContext, InTurn } from '../../ports/store/events.ts'
import type { InstanceRecord, RunRecord, ServiceRecord } from '../../ports/store/services.ts'
import type { Caller } from '../common/caller.ts'
import { withTimer } from '../common/deadline.ts'
import { hostOf, lastRun } from '../common/service-instances.ts'
import { turnsOf } from '../common/turns.ts'
import {
  createValueStreams,
  type ValueSource,
  type ValueStream,
  type ValueStreamsDeps,
} from '../common/value-streams.ts'
import { wholeCharacters } from '../exec/text.ts'
import type { ObservedService } from './observer.ts'
import type { RunMonitor } from './run-monitor.ts'

export interface ServiceLogsDeps {
  outputs: ExecOutputs
  clock: Clock
  actorContext: Pick<ActorContext, 'current'>
}

/** A service whose log is read, and how to observe it again. */
export interface LoggedService {
  observed: ObservedService
  observe(): Promise<ObservedService>
}

/** A piece of a log, which begins `offset` bytes after the start of the log. */
export interface LogPiece {
  offset: number
  bytes: Uint8Array
  /** True if bytes before the piece were requested, and are no longer kept. */
  isTruncated: boolean
}

/**
 * Reads the log of a version: the output of its kept runs, one after another, under one count of bytes. Waits for output for at
 * most the time in the query.
 */
export async function readLogs(
  deps: ServiceLogsDeps,
  service: LoggedService,
  query: ServiceLogsQuery,
): Promise<LogPiece> {
  return readInTurn({ ...deps, inTurn: turnsOf(deps.actorContext) }, service, query)
}

async function readInTurn(
  { outputs, clock, inTurn }: ServiceLogsDeps & { inTurn: InTurn },
  { observed: first, observe }: LoggedService,
  query: ServiceLogsQuery,
): Promise<LogPiece> {
  const end = endOf(outputs, first, query.version)
  const offset = query.offset ?? Math.max(0, end - query.max_bytes)
  const isText = query.encoding === 'utf-8'
  const maxBytes = isText ? Math.max(query.max_bytes, LONGEST_CHARACTER) : query.max_bytes
  const range = { offset, maxBytes, isText, isTail: query.offset === undefined }
  const until = clock.now() + query.wait_seconds * 1000
  const read = ({ record, monitorOf }: ObservedService): { piece: LogPiece; run: RunMonitor | null } => {
    const instance = record[query.version]
    const piece = readFrom(outputs, { boxId: hostOf(record, instance), runs: instance?.runs ?? [] }, range)
    return { piece, run: monitorOf(instance) }
  }
  for (let { piece, run } = read(first); ; ) {
    const left = until - clock.now()
    if (piece.bytes.length > 0 || left <= 0) return piece
    await untilOutput(run, clock, Math.min(left, POLL_MS))
    ;({ piece, run } = await inTurn(async () => read(await observe())))
  }
}

/** Reads the last 20 lines, of at most 4 KiB, that the last run of a version wrote. Empty if it has none. */
export function lastLines(outputs: ExecOutputs, record: ServiceRecord, instance: InstanceRecord | null): string {
  const run = lastRun(instance)
  if (run === null) return ''
  const output = { boxId: hostOf(record, instance), execId: run.execId }
  const { totalBytes } = outputs.read(output, { stream: 'stdout', offset: 0, maxBytes: 0 })
  const offset = Math.max(0, totalBytes - LAST_LINES_BYTES)
  const { bytes } = outputs.read(output, { stream: 'stdout', offset, maxBytes: LAST_LINES_BYTES })
  return Buffer.from(bytes).toString('utf8').trimEnd().split('\n').slice(-LAST_LINES).join('\n')
}

/** Streams of logs. */
export interface LogStreams {
  /**
   * Streams pieces of a log. The cursor of each is the offset to resume from. Ends when the reader stops, its
   * token or the service ends, or the streams are closed.
   * @throws ServiceError `rate_limited` if too many are open
   */
  follow(caller: Caller, service: LoggedService, query: ServiceLogsQuery): ValueStream<LogPiece>
  /** Ends all streams, and later ones at once. */
  close(): void
}

/** Buffers one piece per stream. Reads the next only on demand of the reader. */
export function createLogStreams(deps: ServiceLogsDeps & ValueStreamsDeps): LogStreams {
  const streams = createValueStreams<LogPiece>(deps, { kind: 'logs', atOnce: LOG_STREAMS_AT_ONCE })
  return {
    follow: (caller, service, query) => streams.open(caller, sourceOf(deps, service, query)),
    close: () => streams.close(),
  }
}

function sourceOf(
  deps: ServiceLogsDeps,
  { observed: first, observe }: LoggedService,
  query: ServiceLogsQuery,
): ValueSource<LogPiece> {
  // The turns of the request that opened the stream.
  const inTurn = turnsOf(deps.actorContext)
  let unread: ObservedService | null = first
  let { offset } = query
  const cursor = (): string => String(offset ?? 0)
  return {
    read: async () => {
      const wait = offset === undefined ? 0 : STREAM_WAIT_SECONDS
      const observed = unread ?? (await inTurn(observe))
      unread = null
      const piece = await readInTurn(
        { ...deps, inTurn },
        { observed, observe },
        { ...query, offset, wait_seconds: wait },
      )
      offset = piece.offset + piece.bytes.length
      return piece.bytes.length === 0 ? [] : [{ cursor: cursor(), value: piece }]
    },
    cursor,
  }
}

interface LogRange {
  offset: number
  maxBytes: number
  /** Ends the piece before a character that is not complete yet. */
  isText: boolean
  /** The range begins at the tail of the log, possibly within a character. */
  isTail: boolean
}

// Ends the piece before a gap of bytes that are no longer kept.
function readFrom(
  outputs: ExecOutputs,
  { boxId, runs }: { boxId: string; runs: readonly RunRecord[] },
  { offset, maxBytes, isText, isTail }: LogRange,
): LogPiece {
  const pieces: Uint8Array[] = []
  let [from, end] = [offset, offset]
  for (const [index, run] of runs.entries()) {
    const limit = runs[index + 1]?.logOffset ?? Number.POSITIVE_INFINITY
    if (end >= limit) continue
    const range = {
      stream: 'stdout' as const,
      offset: Math.max(0, end - run.logOffset),
      maxBytes: maxBytes - (end - from),
    }
    const piece = outputs.read({ boxId, execId: run.execId }, range)
    const at = run.logOffset + piece.offset
    if (piece.bytes.length === 0 && limit === Number.POSITIVE_INFINITY) break
    if (at > end && pieces.length > 0) break
    if (pieces.length === 0) from = at
    pieces.push(piece.bytes)
    end = at + piece.bytes.length
    if (end - from >= maxBytes) break
    // The rest of this run is no longer kept. Continue with the next one.
    if (end < limit && limit !== Number.POSITIVE_INFINITY) {
      if (piece.bytes.length > 0) break
      pieces.length = 0
      end = limit
    }
  }
  const bytes = Buffer.concat(pieces)
  const isTruncated = from > offset
  const isLast = runs.at(-1)?.end !== null || bytes.length === 0
  const { skip, length } = isText
    ? wholeCharacters(bytes, { isCutBefore: isTruncated || (isTail && offset > 0), isLast })
    : { skip: 0, length: bytes.length }
  return { offset: from + skip, bytes: bytes.subarray(skip, skip + length), isTruncated }
}

function endOf(outputs: ExecOutputs, { record }: ObservedService, version: ServiceLogsQuery['version']): number {
  const run = record[version]?.runs.at(-1)
  if (run === undefined) return 0
  const { totalBytes } = outputs.read(
    { boxId: hostOf(record, record[version]), execId: run.execId },
    { stream: 'stdout', offset: 0, maxBytes: 0 },
  )
  return run.logOffset + totalBytes
}

async function untilOutput(run: RunMonitor | null, clock: Clock, ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const stop = run?.exec.onOutput(resolve)
  await withTimer({ clock, ms }, (over) => Promise.race([promise, over]))
  stop?.()
}

/** Log streams of all tokens. */
export const LOG_STREAMS_AT_ONCE = 256
const STREAM_WAIT_SECONDS = 1
/** Bytes of a UTF-8 character. */
const LONGEST_CHARACTER = 4
/** A run that begins while a reader waits is found at most this long after its start. */
const POLL_MS = 500
const LAST_LINES = 20
const LAST_LINES_BYTES = 4096
