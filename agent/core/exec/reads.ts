import { ServiceError } from '../../../shared/errors.ts'
import type { ExecOutputs, OutputPiece, OutputRange } from '../../ports/exec/outputs.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { InTurn } from '../../ports/store/events.ts'
import type { ExecOutput, ExecRecord } from '../../ports/store/exec.ts'
import { withTimer } from '../common/deadline.ts'
import { wholeCharacters } from './text.ts'

/** A command, live or ended, and its output. */
export interface ReadableExec {
  record: ExecRecord
  read(range: OutputRange): OutputPiece
  /** Calls `listener` at new output and at the end. Null for a command that has ended. */
  onChange: ((listener: () => void) => () => void) | null
}

/** The last bytes of each stream. */
export interface OutputTails {
  stdout: Uint8Array
  stderr: Uint8Array
}

export interface OutputOptions extends OutputRange {
  /** Cuts no UTF-8 character in two. Returns up to 4 bytes even if fewer were asked for, so that one fits. */
  isText: boolean
  waitMs: number
}

/** A piece of a stream. It is truncated if bytes after the requested offset are no longer kept, and at the end if none follow. */
export interface ExecPiece {
  record: ExecRecord
  offset: number
  bytes: Uint8Array
  isTruncated: boolean
  isEnd: boolean
}

/** Reads an ended command, whose output is in the record or in files. */
export function endedExec(outputs: ExecOutputs, ended: { record: ExecRecord; output: ExecOutput }): ReadableExec {
  const { record, output } = ended
  return {
    record,
    onChange: null,
    read: (range) => {
      const { stream, offset, maxBytes } = range
      const totalBytes = stream === 'stdout' ? record.stdoutBytes : record.stderrBytes
      const kept = output[stream]
      if (kept === null) {
        const piece = outputs.read({ boxId: record.boxId, execId: record.id }, range)
        if (piece.totalBytes === totalBytes) return piece
      }
      // The kept bytes are the last ones. If none are kept, reading starts after the last byte.
      const bytes = kept ?? new Uint8Array(0)
      const start = Math.max(offset, totalBytes - bytes.length)
      const first = start - (totalBytes - bytes.length)
      return { offset: start, bytes: bytes.subarray(first, first + maxBytes), totalBytes }
    },
  }
}

/** Reads the last `maxBytes` of each stream. */
export function readTails({ read, record }: ReadableExec, maxBytes: number): OutputTails {
  const tail = (stream: 'stdout' | 'stderr'): Uint8Array => {
    const totalBytes = stream === 'stdout' ? record.stdoutBytes : record.stderrBytes
    return read({ stream, offset: Math.max(0, totalBytes - maxBytes), maxBytes }).bytes
  }
  return { stdout: tail('stdout'), stderr: tail('stderr') }
}

/**
 * Reads a piece. Waits up to `waitMs` for one that is not empty or for the end. Calls `find` again, in turn, at each change.
 * @throws ServiceError `range_not_satisfiable` for an offset after the end of a command that has ended
 */
export async function readWaiting(
  find: () => Promise<ReadableExec>,
  options: OutputOptions,
  { clock, inTurn }: { clock: Clock; inTurn: InTurn },
): Promise<ExecPiece> {
  return withTimer({ clock, ms: options.waitMs }, async (timeout) => {
    let isTimedOut = options.waitMs === 0
    const over = timeout.then(() => {
      isTimedOut = true
    })
    const look = async () => {
      const exec = await find()
      // Listen and read in the same tick, so that no change is missed.
      const change = Promise.withResolvers<void>()
      const stop = exec.onChange?.(change.resolve)
      return { piece: readPiece(exec, options), change: change.promise, stop }
    }
    for (let looked = await look(); ; looked = await inTurn(look)) {
      const { piece, change, stop } = looked
      if (piece.bytes.length > 0 || piece.isEnd || isTimedOut) {
        stop?.()
        return piece
      }
      await Promise.race([change, over])
      stop?.()
    }
  })
}

function readPiece({ record, read }: ReadableExec, options: OutputOptions): ExecPiece {
  const { stream, offset: requested, maxBytes, isText } = options
  const piece = read({ stream, offset: requested, maxBytes: isText ? Math.max(maxBytes, LONGEST_CHARACTER) : maxBytes })
  const hasEnded = record.status !== 'running'
  const { totalBytes } = piece
  if (hasEnded && requested > totalBytes) throw beyondEnd(stream, totalBytes)
  const isTruncated = piece.offset > requested
  const isLast = hasEnded && piece.offset + piece.bytes.length >= totalBytes
  const { skip, length } = isText
    ? wholeCharacters(piece.bytes, { isCutBefore: isTruncated, isLast })
    : { skip: 0, length: piece.bytes.length }
  const bytes = piece.bytes.subarray(skip, skip + length)
  const offset = piece.offset + skip
  return { record, offset, bytes, isTruncated, isEnd: hasEnded && offset + bytes.length >= totalBytes }
}

function beyondEnd(stream: string, totalBytes: number): ServiceError {
  const detail = `The command has ended and wrote ${totalBytes} bytes to ${stream}. offset must not exceed this number.`
  return new ServiceError('range_not_satisfiable', detail)
}

const LONGEST_CHARACTER = 4
