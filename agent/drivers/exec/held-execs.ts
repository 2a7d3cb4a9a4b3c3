import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { createLimiter } from '../../../shared/locks.ts'
import type { HeldExec } from '../../ports/boxes/runtime.ts'
import { execFile } from './files.ts'
import { type Attach, attachToEntry, createHeldEntry, type EntryFacts, type HeldEntry } from './held-entry.ts'
import { attachToFiles } from './held-output.ts'
import type { Holder, HolderLinks } from './holder-links.ts'
import { type ExecFiles, type HeldCommand, type HeldTask, HOLDER_VERSION, readExitNote } from './holder-protocol.ts'

/** The commands that holders hold, for an agent. */
export interface HeldExecs {
  /** Starts a command, and a holder if none of this version runs. */
  start(task: NewTask): Promise<HeldExec>
  /** Those that run, and those that ended and are not forgotten. */
  list(): HeldExec[]
  /** Takes up what a holder holds. */
  adopt(holder: Holder): void
  onOutput(execIds: readonly string[]): void
  /** Takes up what has ended, and was noted. */
  readNotes(): void
}

/** A task whose input is encoded when it is sent. */
export type NewTask = Omit<HeldTask, 'stdin'> & { stdin: Uint8Array }

export interface HeldExecsDeps {
  links: HolderLinks
  execFiles: ExecFiles
  attach: Attach
}

export function createHeldExecs({ links, execFiles, attach }: HeldExecsDeps): HeldExecs {
  const commands = new Map<string, Command>()
  const largeStarts = createLimiter(LARGE_AT_ONCE)

  const add = (note: HeldCommand, holder: Pick<EntryFacts, 'version' | 'link'>): Command => {
    const { boxId, execId } = note
    const entry = createHeldEntry({ id: execId, boxId, ...holder })
    const command = createCommand(note, entry, {
      attach: async (typing) => {
        const attached = await attachToEntry(entry, typing, attach)
        if (attached !== null) return attached
        // Until then its output is not whole.
        await entry.ended
        return attachToFiles(execFiles, note, note.terminal === true)
      },
      forget: async () => {
        rmSync(execFile(execFiles.directory, note, 'exit'), { force: true })
        drop(command)
      },
    })
    commands.set(execId, command)
    links.add(entry)
    return command
  }
  const drop = ({ entry }: Command): void => {
    commands.delete(entry.id)
    links.remove(entry)
  }
  const start = async (task: NewTask): Promise<HeldExec> => {
    const holder = await links.current()
    const { boxId, execId } = task
    const command = add({ boxId, execId, process: null, terminal: task.request.terminal !== undefined }, holder)
    try {
      const stdin = Buffer.from(task.stdin).toString('base64')
      command.process = await holder.link.start({ ...task, stdin })
      return command
    } catch (error) {
      drop(command)
      throw error
    }
  }
  return {
    start: (task) => (isLarge(task) ? largeStarts.run(() => start(task)) : start(task)),
    list: () => [...commands.values()],
    adopt: (holder) => {
      for (const note of holder.link.held.commands) if (!commands.has(note.execId)) add(note, holder)
    },
    onOutput: (execIds) => {
      for (const id of execIds) for (const listener of commands.get(id)?.listeners ?? []) listener()
    },
    readNotes: () => {
      const { directory } = execFiles
      mkdirSync(directory, { recursive: true, mode: 0o700 })
      for (const boxId of readdirSync(directory)) {
        for (const name of readdirSync(`${directory}/${boxId}`)) {
          const execId = /^(\w+)\.exit$/.exec(name)?.[1]
          if (execId === undefined || commands.has(execId)) continue
          const note = readExitNote(directory, { boxId, execId })
          if (note !== null) add(note, { version: HOLDER_VERSION, link: null }).entry.settle(note.end)
        }
      }
    },
  }
}

interface Command extends HeldExec {
  process: number | null
  entry: HeldEntry
  listeners: Set<() => void>
}

function createCommand(note: HeldCommand, entry: HeldEntry, acts: Pick<HeldExec, 'attach' | 'forget'>): Command {
  const { boxId, execId, process } = note
  const { ended, signal } = entry
  const listeners = new Set<() => void>()
  return {
    ...{ boxId, execId, process, ended, signal, entry, listeners },
    ...acts,
    onOutput: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

// What it is told is in the holder's memory, as text, until the command runs.
function isLarge({ stdin, request: { command, environment } }: NewTask): boolean {
  const parts = [stdin, ...command, ...Object.values(environment)]
  return parts.reduce((sum, { length }) => sum + length, 0) > LARGE_CHARACTERS
}

const LARGE_CHARACTERS = 64 * 1024
const LARGE_AT_ONCE = 4
