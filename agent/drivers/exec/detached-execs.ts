import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { createListeners, type Listeners } from '../../../shared/listeners.ts'
import { createLimiter } from '../../../shared/locks.ts'
import type { DetachedExec } from '../../ports/boxes/runtime.ts'
import {
  type Attach,
  attachToEntry,
  createDetachedEntry,
  type DetachedEntry,
  type EntryFacts,
} from './detached-entry.ts'
import { attachToFiles } from './detached-output.ts'
import { execFile } from './files.ts'
import type { ConnectedShim, ShimConnections } from './shim-connections.ts'
import { type CommandTask, type DetachedCommand, type ExecFiles, readExitNote, SHIM_VERSION } from './shim-protocol.ts'

/** The commands that shims hold, for an agent. */
export interface DetachedExecs {
  /** Starts a command, and a shim if none of this version runs. */
  start(task: NewTask): Promise<DetachedExec>
  /** Those that run, and those that ended and are not forgotten. */
  list(): DetachedExec[]
  /** Takes up what a shim holds. */
  adopt(shim: ConnectedShim): void
  onOutput(execIds: readonly string[]): void
  /** Takes up what has ended, and was noted. */
  readNotes(): void
}

/** A task whose input is encoded when it is sent. */
export type NewTask = Omit<CommandTask, 'stdin'> & { stdin: Uint8Array }

export interface DetachedExecsDeps {
  links: ShimConnections
  execFiles: ExecFiles
  attach: Attach
}

export function createDetachedExecs({ links, execFiles, attach }: DetachedExecsDeps): DetachedExecs {
  const commands = new Map<string, Command>()
  const largeStarts = createLimiter(LARGE_AT_ONCE)

  const add = (note: DetachedCommand, shim: Pick<EntryFacts, 'version' | 'link'>): Command => {
    const { boxId, execId } = note
    const entry = createDetachedEntry({ id: execId, boxId, ...shim })
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
  const start = async (task: NewTask): Promise<DetachedExec> => {
    const shim = await links.current()
    const { boxId, execId } = task
    const command = add({ boxId, execId, process: null, terminal: task.request.terminal !== undefined }, shim)
    try {
      const stdin = Buffer.from(task.stdin).toString('base64')
      command.process = await shim.link.start({ ...task, stdin })
      return command
    } catch (error) {
      drop(command)
      throw error
    }
  }
  return {
    start: (task) => (isLarge(task) ? largeStarts.run(() => start(task)) : start(task)),
    list: () => [...commands.values()],
    adopt: (shim) => {
      for (const note of shim.link.held.commands) if (!commands.has(note.execId)) add(note, shim)
    },
    onOutput: (execIds) => {
      for (const id of execIds) commands.get(id)?.output.notify()
    },
    readNotes: () => {
      const { directory } = execFiles
      mkdirSync(directory, { recursive: true, mode: 0o700 })
      for (const boxId of readdirSync(directory)) {
        for (const name of readdirSync(`${directory}/${boxId}`)) {
          const execId = /^(\w+)\.exit$/.exec(name)?.[1]
          if (execId === undefined || commands.has(execId)) continue
          const note = readExitNote(directory, { boxId, execId })
          if (note !== null) add(note, { version: SHIM_VERSION, link: null }).entry.settle(note.end)
        }
      }
    },
  }
}

interface Command extends DetachedExec {
  process: number | null
  entry: DetachedEntry
  output: Listeners
}

function createCommand(
  note: DetachedCommand,
  entry: DetachedEntry,
  acts: Pick<DetachedExec, 'attach' | 'forget'>,
): Command {
  const { boxId, execId, process } = note
  const { ended, signal } = entry
  const output = createListeners()
  return {
    ...{ boxId, execId, process, ended, signal, entry, output },
    ...acts,
    onOutput: output.add,
  }
}

// What it is told is in the shim's memory, as text, until the command runs.
function isLarge({ stdin, request: { command, environment } }: NewTask): boolean {
  const parts = [stdin, ...command, ...Object.values(environment)]
  return parts.reduce((sum, { length }) => sum + length, 0) > LARGE_CHARACTERS
}

const LARGE_CHARACTERS = 64 * 1024
const LARGE_AT_ONCE = 4
