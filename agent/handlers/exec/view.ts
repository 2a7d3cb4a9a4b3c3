import type { Exec, ExecOutputView, ExecRecordView, Session } from '../../../shared/schemas/exec.ts'
import { timestamp } from '../../../shared/time.ts'
import type { ExecPiece, OutputTails } from '../../core/exec/reads.ts'
import { wholeCharacters } from '../../core/exec/text.ts'
import type { SessionFacts } from '../../ports/boxes/runtime.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { ExecRecord } from '../../ports/store/exec.ts'
import { encodeOutput, type TextEncoding } from '../common/output.ts'

/** Converts the record of a command to the item of a list. */
export function viewExecRecord(record: ExecRecord): ExecRecordView {
  return {
    id: record.id,
    box: record.box,
    project: record.project,
    command: record.command,
    status: record.status,
    exit_code: record.exitCode,
    signal: record.signal,
    reason: record.reason ?? null,
    oom_kills: record.oomKills ?? 0,
    started_at: timestamp(record.startedAt),
    ended_at: record.endedAt === null ? null : timestamp(record.endedAt),
    tty: record.tty,
    user: record.user,
    cwd: record.cwd,
    detached: record.detached,
    process: record.process,
  }
}

/** Converts a command and the end of its output to the Exec of the API, as text or base64. */
export function viewExec(record: ExecRecord, output: OutputTails, encoding: TextEncoding): Exec {
  return {
    ...viewExecRecord(record),
    stdout: encodeTail(output.stdout, record.stdoutBytes, encoding),
    stderr: encodeTail(output.stderr, record.stderrBytes, encoding),
    encoding,
    truncated: output.stdout.length < record.stdoutBytes || output.stderr.length < record.stderrBytes,
    next_offset: { stdout: record.stdoutBytes, stderr: record.stderrBytes },
  }
}

/** Converts a piece of a stream to the ExecOutput of the API. */
export function viewOutput(piece: ExecPiece, stream: 'stdout' | 'stderr', encoding: TextEncoding): ExecOutputView {
  return {
    stream,
    offset: piece.offset,
    next_offset: piece.offset + piece.bytes.length,
    data: encodeOutput(piece.bytes, encoding),
    encoding,
    truncated: piece.isTruncated,
    end: piece.isEnd,
    status: piece.record.status,
  }
}

/** Converts a console session of a box to the Session of the API. */
export function viewSession({ name, project }: BoxRecord, facts: SessionFacts): Session {
  return {
    id: facts.sessionId,
    name: facts.name,
    box: name,
    project,
    command: [...facts.command],
    user: facts.user,
    process: facts.process,
    created_at: timestamp(facts.startedAt),
    cols: facts.size.cols,
    rows: facts.size.rows,
    viewers: facts.viewers,
  }
}

// Skips a character that the cut at the front of a tail left incomplete.
function encodeTail(bytes: Uint8Array, totalBytes: number, encoding: TextEncoding): string {
  if (encoding === 'base64') return encodeOutput(bytes, encoding)
  const { skip } = wholeCharacters(bytes, { isCutBefore: bytes.length < totalBytes, isLast: true })
  return encodeOutput(bytes.subarray(skip), encoding)
}
