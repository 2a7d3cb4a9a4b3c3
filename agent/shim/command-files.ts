import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../../shared/log.ts'
import { refusal } from '../../shared/refusals.ts'
import { execFile, makeExecDirectory } from '../drivers/exec/outputs.ts'
import { type ExecFiles, type ExitNote } from '../drivers/exec/shim-protocol.ts'
import { writeDurably } from '../lib/disk/durable-file.ts'
import type { OutputSink } from '../lib/output/collector.ts'
import { OutputRing } from '../lib/output/ring.ts'
import { isErrno } from '../lib/syscalls/libc.ts'
import type { ExecKey } from '../ports/exec/outputs.ts'
import type { KeptOutput } from './attached-client.ts'

/** The ring files of a command's output. */
export interface CommandRings {
  stdout: OutputRing
  stderr: OutputRing
}

/** Creates the files. Throws `storage_full` if the disk has no room. */
export function openCommandRings(files: ExecFiles, key: ExecKey): CommandRings {
  const open = (stream: 'stdout' | 'stderr'): OutputRing => {
    const path = execFile(files.directory, key, stream)
    return new OutputRing({ path, capacity: files.keptBytes, memoryBytes: 0 })
  }
  let stdout: OutputRing | null = null
  try {
    makeExecDirectory(files.directory, key.boxId)
    stdout = open('stdout')
    return { stdout, stderr: open('stderr') }
  } catch (error) {
    stdout?.close()
    if (!isErrno(error, 'ENOSPC', 'EDQUOT')) throw error
    throw refusal(
      'storage_full',
      [
        'The host has no room for the output of a command.',
        'Delete commands that have ended, or have the operator make room below BOXYARD_DATA_DIR.',
      ],
      { cause: error },
    )
  }
}

/**
 * Wraps a ring, which it publishes after each round of the event loop, and keeps its last chunk in memory while `isWanted`. Clients that
 * keep up then read no file, and miss nothing when the disk is full.
 */
export function keepLastChunk(ring: OutputRing, isWanted: () => boolean): OutputSink & KeptOutput {
  let tail: Buffer = NOTHING
  let tailFrom = 0
  let isPublishing = false
  const publish = (): void => {
    isPublishing = false
    ring.publish()
  }
  return {
    get totalBytes() {
      return ring.totalBytes
    },
    get isSealed() {
      return ring.isSealed
    },
    seal: () => ring.seal(),
    push: (chunk) => {
      tailFrom = ring.totalBytes
      tail = isWanted() ? chunk : NOTHING
      ring.push(chunk)
      if (isPublishing) return
      isPublishing = true
      setImmediate(publish)
    },
    read: (offset, maxBytes) => {
      const start = offset - tailFrom
      if (start < 0 || start >= tail.length) return ring.read(offset, maxBytes)
      return { offset, bytes: tail.subarray(start, start + maxBytes) }
    },
  }
}

/** Syncs what was written to disk. Logs a failure. */
export async function syncRings({ stdout, stderr }: CommandRings, logger: Logger): Promise<void> {
  try {
    await Promise.all([stdout.sync(), stderr.sync()])
  } catch (error) {
    logger.error('failed to sync the output of a command, a power cut may lose it', { error })
  }
}

/** Closes the files. The agent removes them with the command, or in its sweep at the next start. */
export function closeRings({ stdout, stderr }: CommandRings): void {
  stdout.close()
  stderr.close()
}

/** Writes how commands ended, for the agent to read. */
export interface ExitNotes {
  /** Resolves once the note is durable. Retries every 5 s while the disk refuses it. */
  write(note: ExitNote): Promise<void>
}

/** Writes notes beside the output in `directory`. */
export function createExitNotes({ directory, logger }: { directory: string; logger: Logger }): ExitNotes {
  const tryWrite = (note: ExitNote): boolean => {
    try {
      writeDurably(execFile(directory, note, 'exit'), JSON.stringify(note))
      return true
    } catch (error) {
      // The box was deleted with its files.
      if (isErrno(error, 'ENOENT')) return true
      logger.error('failed to record the end of a held command, retrying', { exec: note.execId, error })
      return false
    }
  }
  return {
    write: async (note) => {
      while (!tryWrite(note)) await sleep(RETRY_MS)
    },
  }
}

const NOTHING = Buffer.alloc(0)
const RETRY_MS = 5_000
