import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../../shared/log.ts'
import { execFile } from '../drivers/exec-files.ts'
import type { ExitNote } from '../drivers/holder-protocol.ts'
import { writeDurably } from '../lib/durable-file.ts'
import { isErrno } from '../lib/syscalls-libc.ts'

/** Notes of how commands ended, which the next agent reads. */
export interface ExitNotes {
  /** Durable on return, unless the disk takes nothing: then it is tried again until it does. */
  write(note: ExitNote): void
  /** Whether all are written. */
  isIdle(): boolean
}

/** Notes beside the output in `directory`. */
export function createExitNotes(deps: { directory: string; logger: Logger; onIdle(): void }): ExitNotes {
  const { directory, logger, onIdle } = deps
  let waiting = 0
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
  const insist = async (note: ExitNote): Promise<void> => {
    waiting += 1
    do await sleep(RETRY_MS)
    while (!tryWrite(note))
    waiting -= 1
    onIdle()
  }
  return {
    write: (note) => {
      if (!tryWrite(note)) void insist(note)
    },
    isIdle: () => waiting === 0,
  }
}

const RETRY_MS = 5_000
