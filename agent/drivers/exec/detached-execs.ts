import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { Readable, Writable } from 'node:stream'
import { createListeners, type Listeners } from '../../../shared/listeners.ts'
import { createLimiter } from '../../../shared/locks.ts'
import { readRingFile } from '../../lib/output/ring.ts'
import { type AttachedExec, type DetachedExec } from '../../ports/boxes/runtime.ts'
import type { ExecKey, OutputStream } from '../../ports/exec/outputs.ts'
import { execFile } from './outputs.ts'
import {
  type Attach,
  attachToEntry,
  type ConnectedShim,
  createDetachedEntry,
  type DetachedEntry,
  type EntryFacts,
  type ShimConnections,
} from './shim-connections.ts'
import {
  type CommandTask,
  type DetachedCommand,
  type ExecFiles,
  readExitNote,
  SHIM_LIMITS,
  SHIM_VERSION,
} from './shim-protocol.ts'

/** The agent's view of the commands that run in shims. */
export interface DetachedExecs {
  /** Starts a command, and first a shim if none of this version runs. */
  start(task: DetachedTask): Promise<DetachedExec>
  /** Lists running commands, and ended ones that are not forgotten. */
  list(): DetachedExec[]
  /** Adds the commands of a shim's inventory. */
  adopt(shim: ConnectedShim): void
  /** Notifies the listeners of commands that have new output. */
  onOutput(execIds: readonly string[]): void
  /** Adds the ended commands that have an exit note. */
  readNotes(): void
}

/** A task with its input as bytes, which are encoded when sent. */
export type DetachedTask = Omit<CommandTask, 'stdin'> & { stdin: Uint8Array }

export interface DetachedExecsDeps {
  shims: ShimConnections
  execFiles: ExecFiles
  attach: Attach
}

export function createDetachedExecs({ shims, execFiles, attach }: DetachedExecsDeps): DetachedExecs {
  const commands = new Map<string, Command>()
  const largeStarts = createLimiter(LARGE_AT_ONCE)

  const add = (note: DetachedCommand, shim: Pick<EntryFacts, 'version' | 'client'>): Command => {
    const { boxId, execId } = note
    const entry = createDetachedEntry({ id: execId, boxId, ...shim })
    const command = createCommand(note, entry, {
      attach: async (typing) => {
        const attached = await attachToEntry(entry, typing, attach)
        if (attached !== null) return attached
        // The output is complete only after the end.
        await entry.ended
        return attachToFiles(execFiles, note, note.terminal === true)
      },
      forget: async () => {
        rmSync(execFile(execFiles.directory, note, 'exit'), { force: true })
        drop(command)
      },
    })
    commands.set(execId, command)
    shims.add(entry)
    return command
  }
  const drop = ({ entry }: Command): void => {
    commands.delete(entry.id)
    shims.remove(entry)
  }
  const start = async (task: DetachedTask): Promise<DetachedExec> => {
    const shim = await shims.current()
    const { boxId, execId } = task
    const command = add({ boxId, execId, process: null, terminal: task.request.terminal !== undefined }, shim)
    try {
      const stdin = Buffer.from(task.stdin).toString('base64')
      command.process = await shim.client.start({ ...task, stdin })
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
      for (const note of shim.client.inventory.commands) if (!commands.has(note.execId)) add(note, shim)
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
          if (note !== null) add(note, { version: SHIM_VERSION, client: null }).entry.settle(note.end)
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

// The shim keeps the whole request in memory, as text, until the command runs.
function isLarge({ stdin, request: { command, environment } }: DetachedTask): boolean {
  const parts = [stdin, ...command, ...Object.values(environment)]
  return parts.reduce((sum, { length }) => sum + length, 0) > LARGE_CHARACTERS
}

/** Attaches to a command that has ended: reads the kept output from its files, and drops input. */
function attachToFiles(files: ExecFiles, key: ExecKey, isTerminal: boolean): AttachedExec {
  const stdout = readKept(files, key, { stream: 'stdout', lastBytes: isTerminal ? SHIM_LIMITS.replayBytes : null })
  const stderr = readKept(files, key, { stream: 'stderr', lastBytes: null })
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

// The files may disappear at any time, into the record or with the box. The stream then ends early.
function readKept(
  { directory, keptBytes: capacity }: ExecFiles,
  key: ExecKey,
  { stream, lastBytes }: { stream: OutputStream; lastBytes: number | null },
): Readable {
  const path = execFile(directory, key, stream)
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

const LARGE_CHARACTERS = 64 * 1024
const LARGE_AT_ONCE = 4
const PIECE_BYTES = 64 * 1024
