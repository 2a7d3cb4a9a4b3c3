import type { Exec } from '../../shared/schemas/exec.ts'
import type { ExecOutput, ExecRecord } from '../ports/store.ts'
import { timestamp } from './box-view.ts'

/** The Exec of the API with the kept end of its output, as text or base64. */
export function viewExec(record: ExecRecord, output: ExecOutput, encoding: 'utf-8' | 'base64'): Exec {
  return {
    id: record.id,
    box: record.box,
    project: record.project,
    command: record.command,
    status: record.status,
    exit_code: record.exitCode,
    signal: record.signal,
    started_at: timestamp(record.startedAt),
    ended_at: record.endedAt === null ? null : timestamp(record.endedAt),
    tty: false,
    user: record.user,
    cwd: record.cwd,
    detached: false,
    process: record.process,
    stdout: encode(output.stdout, record.stdoutBytes, encoding),
    stderr: encode(output.stderr, record.stderrBytes, encoding),
    encoding,
    truncated: output.stdout.length < record.stdoutBytes || output.stderr.length < record.stderrBytes,
    next_offset: { stdout: record.stdoutBytes, stderr: record.stderrBytes },
  }
}

// What is no UTF-8 becomes U+FFFD; a cut through a character at the front of a tail is no fault of the command's.
function encode(bytes: Uint8Array, totalBytes: number, encoding: 'utf-8' | 'base64'): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (encoding === 'base64') return buffer.toString('base64')
  return buffer.subarray(buffer.length < totalBytes ? continuationBytes(buffer) : 0).toString('utf8')
}

function continuationBytes(buffer: Buffer): number {
  let count = 0
  while (count < 3 && ((buffer[count] ?? 0) & 0xc0) === 0x80) count += 1
  return count
}
