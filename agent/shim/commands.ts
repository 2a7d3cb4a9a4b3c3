import { createLingering, LINGERING_MAX } from '../../shared/lingering.ts'
import type { FlowOwner } from '../../shared/rotation.ts'
import { createValve, type Valve } from '../../shared/valve.ts'
import { type CommandTask, type DetachedCommand, type ExecFiles, SHIM_LIMITS } from '../drivers/exec/shim-protocol.ts'
import {
  collectOutput,
  type OutputCollector,
  type OutputParts,
  type OutputSink,
  type OutputTurns,
} from '../lib/output/collector.ts'
import type { DetachedEnd, RunningExec } from '../ports/boxes/runtime.ts'
import type { ExecKey } from '../ports/exec/outputs.ts'
import { type AttachedClients, type AttachRequest, createAttachedClients, createRecentlyEnded } from './attachments.ts'
import {
  type CommandRings,
  closeRings,
  createExitNotes,
  keepLastChunk,
  openCommandRings,
  syncRings,
} from './command-files.ts'
import { createProcessStarter, flowOwnerOf, type ProcessStarter, type ProcessStarterDeps } from './process-starter.ts'
import { createUnreadInput } from './unread-input.ts'

/** Runs the detached commands that this shim is the parent of. */
export interface Commands {
  /** Resolves with the pid in the box once the command runs. Throws as `Runtime.exec`, or `storage_full`. */
  start(task: CommandTask): Promise<number | null>
  /** Signals every process of a command. Does nothing for an unknown one. */
  signal(execId: string, signal: NodeJS.Signals): Promise<void>
  /** Attaches a client once the command runs, or up to 5 s after its end. False if it is unknown. Throws `rate_limited`. */
  attach(execId: string, request: AttachRequest): Promise<boolean>
  /** Lists running and starting commands. */
  list(): DetachedCommand[]
  /** Returns whether this process may end without loss. */
  isIdle(): boolean
}

export interface ShimEvents {
  onOutput(execId: string): void
  /** Reports the end of a command or a session. Null if it never ran. */
  onEnded(id: string, end: DetachedEnd | null): void
  /** Called when `isIdle` may have become true. */
  onIdle(): void
}

export interface CommandsDeps extends ProcessStarterDeps {
  files: ExecFiles
  listener: ShimEvents
  turns: OutputTurns
  /** Returns milliseconds since the epoch. */
  now(): number
}

/** Starts commands as the agent does, writes their output to files, and notes an end durably before it is reported. */
export function createCommands(deps: CommandsDeps): Commands {
  const { crunStates, files, logger, listener } = deps
  const commands = new Map<string, Command>()
  // Keeps processes that ended commands left running from SIGPIPE.
  const lingering = createLingering(LINGERING_MAX, listener.onIdle)
  const recentlyEnded = createRecentlyEnded(ENDED_MAX)
  const exits = createExitNotes({ directory: files.directory, logger })
  const unread = createUnreadInput()

  const drop = ({ boxId, execId }: ExecKey, end: DetachedEnd | null): void => {
    commands.delete(execId)
    crunStates.release(boxId)
    listener.onEnded(execId, end)
  }
  const follow = async (started: Started, parts: RunningParts): Promise<void> => {
    const { command, owners } = started
    const { end, collector } = await followToEnd(deps, started, parts)
    await syncRings(parts.rings, logger)
    // Listed as running until the note is written. An agent that asks before then must not take it for lost.
    await exits.write({ ...noteOf(command), end })
    drop(command, end)
    lingering.add(collector, owners)
    await recentlyEnded.add(command.execId, parts.attachments)
    closeRings(parts.rings)
  }
  return {
    start: async (task) => {
      const { boxId, execId, timeoutMs, keepsInput } = task
      const owners = [`box ${boxId}`, ...(task.request.accounts ?? [])]
      const input = unread.take(owners, task.stdin)
      const isTerminal = task.request.terminal !== undefined
      const { promise: attachments, resolve: resolveAttachments } = Promise.withResolvers<AttachedClients | null>()
      const start = createProcessStarter(deps, execId)
      const command: Command = { boxId, execId, process: null, terminal: isTerminal, start, attachments }
      commands.set(execId, command)
      crunStates.acquire(task)
      let rings: CommandRings | null = null
      try {
        rings = openCommandRings(files, task)
        const running = await start.run(task)
        command.process = await running.process
        input.writeTo(running.stdin, { keepsOpen: keepsInput })
        const parts = { running, rings, ...openOutputs(running, rings, isTerminal) }
        resolveAttachments(parts.attachments)
        void follow({ command, owners, flowOwner: flowOwnerOf(task), timeoutMs, keepsInput }, parts)
        return command.process
      } catch (error) {
        resolveAttachments(null)
        input.drop()
        if (rings !== null) closeRings(rings)
        drop(task, null)
        listener.onIdle()
        throw error
      }
    },
    signal: async (execId, signal) => commands.get(execId)?.start.signal(signal),
    attach: async (execId, request) => {
      const attachments = (await commands.get(execId)?.attachments) ?? recentlyEnded.find(execId)
      attachments?.join(request)
      return attachments !== null
    },
    list: () => [...commands.values()].map(noteOf),
    isIdle: () => commands.size === 0 && lingering.size === 0,
  }
}

interface Command extends DetachedCommand {
  start: ProcessStarter
  /** Resolves once it runs, or with null if it never did. */
  attachments: Promise<AttachedClients | null>
}

interface Started extends Pick<CommandTask, 'timeoutMs' | 'keepsInput'> {
  command: Command
  /** The accounts that it counts against. */
  owners: readonly string[]
  flowOwner: FlowOwner
}

interface RunningParts {
  running: RunningExec
  rings: CommandRings
  sinks: OutputParts<OutputSink>
  valves: OutputParts<Valve>
  attachments: AttachedClients
}

function noteOf({ boxId, execId, process, terminal = false }: DetachedCommand): DetachedCommand {
  return { boxId, execId, process, terminal }
}

// Replays all kept output of pipes to new clients. It is in files, so that this costs no memory.
function openOutputs(
  { stdin, stdout, stderr, terminal }: RunningExec,
  rings: CommandRings,
  isTerminal: boolean,
): Pick<RunningParts, 'sinks' | 'valves' | 'attachments'> {
  const isWatched = (): boolean => attachments.size > 0
  const sinks = { stdout: keepLastChunk(rings.stdout, isWatched), stderr: keepLastChunk(rings.stderr, isWatched) }
  const valves = { stdout: createValve(stdout), stderr: createValve(stderr) }
  const replayFrom = (): number => (isTerminal ? Math.max(0, rings.stdout.totalBytes - SHIM_LIMITS.replayBytes) : 0)
  const attachments = createAttachedClients({
    ...{ stdin, isTerminal, terminal, endsInput: true },
    streams: [
      { kind: 'stdout', kept: sinks.stdout, replayFrom, sources: [valves.stdout], maxLagBytes: LAG_BYTES },
      { kind: 'stderr', kept: sinks.stderr, replayFrom: () => 0, sources: [valves.stderr], maxLagBytes: LAG_BYTES },
    ],
  })
  return { sinks, valves, attachments }
}

// Waits for as long as the command runs, so it must not keep a reference to the task, which may be large.
async function followToEnd(
  { listener, turns, now }: Pick<CommandsDeps, 'listener' | 'turns' | 'now'>,
  { command, flowOwner: owner, timeoutMs, keepsInput }: Started,
  { running, valves, sinks, attachments }: RunningParts,
): Promise<{ end: DetachedEnd; collector: OutputCollector }> {
  const isRead = (): boolean => attachments.size > 0
  const collector = collectOutput(valves, { sinks, reading: { turns, owner }, isRead })
  collector.onOutput(() => {
    attachments.onOutput()
    listener.onOutput(command.execId)
  })
  const exit = await waitForExit(timeoutMs, running)
  const end = { ...exit, endedAt: now() }
  if (keepsInput) running.stdin.destroy()
  attachments.ignoreLag()
  await collector.settle()
  attachments.end()
  return { end, collector }
}

async function waitForExit(timeoutMs: number | null, running: RunningExec): Promise<Omit<DetachedEnd, 'endedAt'>> {
  let timedOut = false
  const kill = (): void => {
    timedOut = true
    // Throws if the cgroup is gone, and then nothing is left to kill.
    void running.signal('SIGKILL').catch(() => undefined)
  }
  const timer = timeoutMs === null ? undefined : setTimeout(kill, timeoutMs)
  const exit = await running.exited
  clearTimeout(timer)
  return { ...exit, timedOut }
}

// Each keeps two files open.
const ENDED_MAX = 64
// A part of the 8 MiB that are kept.
const LAG_BYTES = 256 * 1024
