import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../../shared/log.ts'
import { execFile } from '../drivers/exec/files.ts'
import type { ExitNote } from '../drivers/exec/shim-protocol.ts'
import { writeDurably } from '../lib/disk/durable-file.ts'
import { isErrno } from '../lib/syscalls/libc.ts'

/** Notes of how commands ended, which the next agent reads. */
export interface ExitNotes {
  /** Resolves once the note is durable: while the disk takes nothing it is tried again. */
  write(note: ExitNote): Promise<void>
}

/** Notes beside the output in `directory`. */
export function createExitNotes({ directory, logger }: { directory: string; logger: Logger }): ExitNotes {
  const tryWrite = (note: ExitNote): boolean => {
    try {
      writeDurably(execFile(directory, note, 'exit'), JSON.stringify(note))
      return true
    } catch (error) {
      // The box was deleted, and what is kept of it.
      if (isErrno(error, 'ENOENT')) return true
      logger.error('the end of a held command could not be noted yet', { exec: note.execId, error })
      return false
    }
  }
  return {
    write: async (note) => {
      while (!tryWrite(note)) await sleep(RETRY_MS)
    },
  }
}

const RETRY_MS = 5_000
