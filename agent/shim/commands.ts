import { type CommandTask, type DetachedCommand, type ExecFiles, SHIM_LIMITS } from '../drivers/exec/shim-protocol.ts'
import { collectOutput, type OutputCollector, type OutputParts, type OutputSink } from '../lib/output/collector.ts'
import type { DetachedEnd, RunningExec } from '../ports/boxes/runtime.ts'
import type { OutputPlace } from '../ports/exec/outputs.ts'
import { type Attachments, type AttachRequest, createAttachments } from './attachments.ts'
import { createExitNotes } from './exit-notes.ts'
import { createLingeringProcesses } from './lingering.ts'
import { createProcessStarter, type ProcessStarter, type ProcessStarterDeps } from './process-starter.ts'
import { createRecentlyEnded } from './recently-ended.ts'
import { closeRings, openRings, type Rings, syncRings, withTail } from './rings.ts'
import { createUnreadInput } from './unread-input.ts'

/** The commands a shim is the parent of. */
export interface Commands {
  /** Resolves with the process in the box once the command runs. Throws as `Runtime.exec`, or `storage_full`. */
  start(task: CommandTask): Promise<number | null>
  /** Signals all that a command started; one that is not held is a success. */
  signal(execId: string, signal: NodeJS.Signals): Promise<void>
  /** Lets one attach once the command runs, or soon after its end; false if it is not held. Throws `rate_limited`. */
  attach(execId: string, visitor: AttachRequest): Promise<boolean>
  /** Those that run or start. */
  list(): DetachedCommand[]
  /** Whether nothing would be lost if this process ended. */
  isIdle(): boolean
}

export interface ShimEvents {
  onOutput(execId: string): void
  /** Of a command or a session. With null it never ran. */
  onEnded(id: string, end: DetachedEnd | null): void
  /** Called when `isIdle` may have become true. */
  onIdle(): void
}

export interface CommandsDeps extends ProcessStarterDeps {
  files: ExecFiles
  listener: ShimEvents
  /** Milliseconds since the epoch. */
  now(): number
}

/** Starts commands as the agent does, writes their output to files, and a note of their end before it tells of it. */
export function createCommands(deps: CommandsDeps): Commands {
  const { boxes, files, logger, listener } = deps
  const commands = new Map<string, Held>()
  const lingering = createLingeringProcesses(listener.onIdle)
  const past = createRecentlyEnded(PAST_MAX)
  const exits = createExitNotes({ directory: files.directory, logger })
  const unread = createUnreadInput()

  const drop = ({ boxId, execId }: OutputPlace, end: DetachedEnd | null): void => {
    commands.delete(execId)
    boxes.release(boxId)
    listener.onEnded(execId, end)
  }
  const follow = async (started: Started, parts: RunningParts): Promise<void> => {
    const { held } = started
    const { end, collector } = await untilOver(deps, started, parts)
    await syncRings(parts.rings, logger)
    // It is held until then: whoever asks before is told that it runs, not that it is lost.
    await exits.write({ ...noteOf(held), end })
    drop(held, end)
    lingering.add(collector)
    await past.add(held.execId, parts.audience)
    closeRings(parts.rings)
  }
  return {
    start: async (task) => {
      const { boxId, execId, timeoutMs, keepsInput } = task
      const input = unread.take(boxId, task.stdin)
      const isTerminal = task.request.terminal !== undefined
      const { promise: audience, resolve: letIn } = Promise.withResolvers<Attachments | null>()
      const start = createProcessStarter(deps, execId)
      const held: Held = { boxId, execId, process: null, terminal: isTerminal, start, audience }
      commands.set(execId, held)
      boxes.hold(task)
      let rings: Rings | null = null
      try {
        rings = openRings(files, task)
        const running = await start.run(task)
        held.process = await running.process
        input.feed(running.stdin, { keepsOpen: keepsInput })
        const parts = { running, rings, ...gather(running, rings, isTerminal) }
        letIn(parts.audience)
        void follow({ held, timeoutMs, keepsInput }, parts)
        return held.process
      } catch (error) {
        letIn(null)
        input.drop()
        if (rings !== null) closeRings(rings)
        drop(task, null)
        listener.onIdle()
        throw error
      }
    },
    signal: async (execId, signal) => commands.get(execId)?.start.signal(signal),
    attach: async (execId, visitor) => {
      const audience = (await commands.get(execId)?.audience) ?? past.find(execId)
      audience?.join(visitor)
      return audience !== null
    },
    list: () => [...commands.values()].map(noteOf),
    isIdle: () => commands.size === 0 && lingering.count === 0,
  }
}

interface Held extends DetachedCommand {
  start: ProcessStarter
  /** Once it runs; null if it never did. */
  audience: Promise<Attachments | null>
}

interface Started extends Pick<CommandTask, 'timeoutMs' | 'keepsInput'> {
  held: Held
}

interface RunningParts {
  running: RunningExec
  rings: Rings
  sinks: OutputParts<OutputSink>
  audience: Attachments
}

function noteOf({ boxId, execId, process, terminal = false }: DetachedCommand): DetachedCommand {
  return { boxId, execId, process, terminal }
}

// What is kept is in files: it costs no memory to let those who attach begin with all of it.
function gather(
  { stdin, stdout, stderr, terminal }: RunningExec,
  rings: Rings,
  isTerminal: boolean,
): Pick<RunningParts, 'sinks' | 'audience'> {
  const isWatched = (): boolean => audience.size > 0
  const sinks = { stdout: withTail(rings.stdout, isWatched), stderr: withTail(rings.stderr, isWatched) }
  const replayFrom = (): number => (isTerminal ? Math.max(0, rings.stdout.totalBytes - SHIM_LIMITS.replayBytes) : 0)
  const audience = createAttachments({
    ...{ stdin, isTerminal, terminal, endsInput: true },
    streams: [
      { kind: 'stdout', kept: sinks.stdout, replayFrom, sources: [stdout], paceBytes: PACE_BYTES },
      { kind: 'stderr', kept: sinks.stderr, replayFrom: () => 0, sources: [stderr], paceBytes: PACE_BYTES },
    ],
  })
  return { sinks, audience }
}

// For as long as the command runs: it must hold nothing of the task, which may be large.
async function untilOver(
  { listener, now }: Pick<CommandsDeps, 'listener' | 'now'>,
  { held, timeoutMs, keepsInput }: Started,
  { running, sinks, audience }: RunningParts,
): Promise<{ end: DetachedEnd; collector: OutputCollector }> {
  const collector = collectOutput(running, sinks)
  collector.onOutput(() => {
    audience.tell()
    listener.onOutput(held.execId)
  })
  const exit = await untilEnd(timeoutMs, running)
  const end = { ...exit, endedAt: now() }
  if (keepsInput) running.stdin.destroy()
  audience.hurry()
  await collector.settle()
  audience.end()
  return { end, collector }
}

async function untilEnd(timeoutMs: number | null, running: RunningExec): Promise<Omit<DetachedEnd, 'endedAt'>> {
  let timedOut = false
  const kill = (): void => {
    timedOut = true
    // It throws where the cgroup is gone, and with it all that could be killed.
    void running.signal('SIGKILL').catch(() => undefined)
  }
  const timer = timeoutMs === null ? undefined : setTimeout(kill, timeoutMs)
  const exit = await running.exited
  clearTimeout(timer)
  return { ...exit, timedOut }
}

// Each has two files open.
const PAST_MAX = 64
// Of 8 MiB that are kept.
const PACE_BYTES = 256 * 1024
