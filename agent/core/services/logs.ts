import type { ServiceLogsQuery } from '../../../shared/schemas/services.ts'
import type { ExecOutputs } from '../../ports/exec/outputs.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { RunRecord } from '../../ports/store/services.ts'
import { withTimer } from '../common/deadline.ts'
import { hostOf } from '../common/service-instances.ts'
import { wholeCharacters } from '../exec/text.ts'
import type { ObservedService } from './observer.ts'
import type { RunMonitor } from './run-monitor.ts'

export interface ServiceLogsDeps {
  outputs: ExecOutputs
  clock: Clock
}

/** A service whose log is read: as it was just seen, and how to see it again. */
export interface LoggedService {
  sight: ObservedService
  see(): Promise<ObservedService>
}

/** A piece of a log from `offset` on. */
export interface LogPiece {
  offset: number
  bytes: Uint8Array
  isTruncated: boolean
}

/**
 * Reads the log of a version of a service: what its kept runs wrote, one after another, under one count of bytes. Waits for something to
 * come, at most as long as is asked; `see` is asked at each look.
 */
export async function readLogs(
  { outputs, clock }: ServiceLogsDeps,
  { sight: first, see }: LoggedService,
  query: ServiceLogsQuery,
): Promise<LogPiece> {
  const end = endOf(outputs, first, query.version)
  const offset = query.offset ?? Math.max(0, end - query.max_bytes)
  const isText = query.encoding === 'utf-8'
  const maxBytes = isText ? Math.max(query.max_bytes, LONGEST_CHARACTER) : query.max_bytes
  const wish = { offset, maxBytes, isText, isTail: query.offset === undefined }
  const until = clock.now() + query.wait_seconds * 1000
  for (let sight = first; ; sight = await see()) {
    const instance = sight.record[query.version]
    const piece = readFrom(outputs, { boxId: hostOf(sight.record, instance), runs: instance?.runs ?? [] }, wish)
    const left = until - clock.now()
    if (piece.bytes.length > 0 || left <= 0) return piece
    await untilOutput(sight.liveOf(instance), clock, Math.min(left, LOOK_MS))
  }
}

interface LogOptions {
  offset: number
  maxBytes: number
  /** Ends no piece within a character of which more may come. */
  isText: boolean
  /** Begins wherever that is, which may be within a character. */
  isTail: boolean
}

// What is no longer kept leaves a gap, before which a piece ends.
function readFrom(
  outputs: ExecOutputs,
  { boxId, runs }: { boxId: string; runs: readonly RunRecord[] },
  { offset, maxBytes, isText, isTail }: LogOptions,
): LogPiece {
  const pieces: Uint8Array[] = []
  let [from, end] = [offset, offset]
  for (const [place, run] of runs.entries()) {
    const limit = runs[place + 1]?.logOffset ?? Number.POSITIVE_INFINITY
    if (end >= limit) continue
    const wanted = {
      stream: 'stdout' as const,
      offset: Math.max(0, end - run.logOffset),
      maxBytes: maxBytes - (end - from),
    }
    const piece = outputs.read({ boxId, execId: run.execId }, wanted)
    const at = run.logOffset + piece.offset
    if (piece.bytes.length === 0 && limit === Number.POSITIVE_INFINITY) break
    if (at > end && pieces.length > 0) break
    if (pieces.length === 0) from = at
    pieces.push(piece.bytes)
    end = at + piece.bytes.length
    if (end - from >= maxBytes) break
    // Nothing more is kept of this one.
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

async function untilOutput(live: RunMonitor | null, clock: Clock, ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const stop = live?.held.onOutput(resolve)
  await withTimer({ clock, ms }, (over) => Promise.race([promise, over]))
  stop?.()
}

const LONGEST_CHARACTER = 4
// A run that began meanwhile is found by looking again.
const LOOK_MS = 500
