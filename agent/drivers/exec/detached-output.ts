import { Readable, Writable } from 'node:stream'
import { readRingFile } from '../../lib/output/ring.ts'
import type { AttachedExec } from '../../ports/boxes/runtime.ts'
import type { OutputPlace, OutputStream } from '../../ports/exec/outputs.ts'
import { execFile } from './files.ts'
import { type ExecFiles, SHIM_LIMITS } from './shim-protocol.ts'

/** One who attaches to a command that has ended: what is kept of its output, and nobody who takes input. */
export function attachToFiles(files: ExecFiles, place: OutputPlace, isTerminal: boolean): AttachedExec {
  const stdout = readKept(files, place, { stream: 'stdout', lastBytes: isTerminal ? SHIM_LIMITS.replayBytes : null })
  const stderr = readKept(files, place, { stream: 'stderr', lastBytes: null })
  return {
    stdin: new Writable({ write: (_chunk, _encoding, done) => done() }),
    stdout,
    stderr,
    terminal: isTerminal ? { resize: () => undefined } : null,
    close: () => {
      stdout.destroy()
      stderr.destroy()
    },
  }
}

// Its files may go at any time, into its record or with its box: what was not read by then is not told.
function readKept(
  { directory, keptBytes: capacity }: ExecFiles,
  place: OutputPlace,
  { stream, lastBytes }: { stream: OutputStream; lastBytes: number | null },
): Readable {
  const path = execFile(directory, place, stream)
  let next: number | null = lastBytes === null ? 0 : null
  const kept = new Readable({
    highWaterMark: PIECE_BYTES,
    read: () => {
      next ??= Math.max(0, readRingFile(path, { capacity, offset: 0, maxBytes: 0 }).totalBytes - (lastBytes ?? 0))
      const { offset, bytes } = readRingFile(path, { capacity, offset: next, maxBytes: PIECE_BYTES })
      next = offset + bytes.length
      kept.push(bytes.length === 0 ? null : bytes)
    },
  })
  return kept.on('error', () => undefined)
}

const PIECE_BYTES = 64 * 1024
