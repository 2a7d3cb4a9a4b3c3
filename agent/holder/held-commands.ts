import { ServiceError } from '../../shared/errors.ts'
import type { Logger } from '../../shared/log.ts'
import type { CommandHost } from '../drivers/command-host.ts'
import { execFile, makeExecDirectory } from '../drivers/exec-files.ts'
import { type ExecFiles, type HeldCommand, type HeldTask, heldCgroup } from '../drivers/holder-protocol.ts'
import { type ExecTask, startExec } from '../drivers/oci-exec.ts'
import { collectOutput, type OutputCollector } from '../lib/output-collector.ts'
import { OutputRing } from '../lib/output-ring.ts'
import { isErrno } from '../lib/syscalls-libc.ts'
import type { OutputPlace } from '../ports/exec-outputs.ts'
import type { HeldEnd, RunningExec } from '../ports/runtime.ts'
import { createBoxNotes } from './box-notes.ts'
import { createExitNotes } from './exit-notes.ts'
import { createUnreadInput } from './unread-input.ts'

/** The commands a holder is the parent of. */
export interface HeldCommands {
  /** Resolves with the process in the box once the command runs. Throws as `Runtime.exec`, or `storage_full`. */
  start(task: HeldTask): Promise<number | null>
  /** Signals all that a command started; one that is not held is a success. */
  signal(execId: string, signal: NodeJS.Signals): Promise<void>
  /** Those that run or start. */
  list(): HeldCommand[]
  /** Whether nothing would be lost if this process ended. */
  isIdle(): boolean
}

export interface HeldListener {
  onOutput(execId: string): void
  /** With null it never ran. */
  onEnded(execId: string, end: HeldEnd | null): void
  /** Called when `isIdle` may have become true. */
  onIdle(): void
}

export interface HeldCommandsDeps {
  host: CommandHost
  files: ExecFiles
  logger: Logger
  listener: HeldListener
  /** Milliseconds since the epoch. */
  now(): number
}

/** Starts commands as the agent does, writes their output to files, and a note of their end before it tells of it. */
export function createHeldCommands({ host, files, logger, listener, now }: HeldCommandsDeps): HeldCommands {
  const commands = new Map<string, Held>()
  const lingering = createLingering(listener)
  const boxes = createBoxNotes(host.crun)
  const exits = createExitNotes({ directory: files.directory, logger })
  const unread = createUnreadInput()

  const drop = ({ boxId, execId }: OutputPlace, end: HeldEnd | null): void => {
    commands.delete(execId)
    boxes.release(boxId)
    listener.onEnded(execId, end)
  }
  // For as long as the command runs: it must hold nothing of the task, which may be large.
  const follow = async (started: Started, running: RunningExec, rings: Rings): Promise<void> => {
    const { boxId, execId } = started
    const collector = collectOutput(running, rings)
    collector.onOutput(() => listener.onOutput(execId))
    const end = { ...(await untilEnd(started.timeoutMs, running)), endedAt: now() }
    await collector.settle()
    await syncRings(rings, logger)
    // It is held until then: whoever asks before is told that it runs, not that it is lost.
    await exits.write({ boxId, execId, process: commands.get(execId)?.process ?? null, end })
    drop(started, end)
    lingering.add(collector)
  }
  return {
    start: async (task) => {
      const { boxId, execId, timeoutMs } = task
      const input = unread.take(task.stdin)
      const held: Held = { boxId, execId, process: null, running: null, early: null }
      commands.set(execId, held)
      boxes.hold(task)
      let rings: Rings | null = null
      try {
        rings = openRings(files, task)
        const nextName = (): string => heldCgroup(execId)
        held.running = await startExec({ ...host, logger, nextName }, execTaskOf(host, task))
        held.process = await held.running.process
        if (held.early !== null) await held.running.signal(held.early)
        input.feed(held.running.stdin)
        void follow({ boxId, execId, timeoutMs }, held.running, rings)
        return held.process
      } catch (error) {
        input.drop()
        if (rings !== null) closeRings(rings)
        drop(task, null)
        listener.onIdle()
        throw error
      }
    },
    signal: async (execId, signal) => {
      const held = commands.get(execId)
      if (held?.running) await held.running.signal(signal)
      else if (held !== undefined) held.early = signal
    },
    list: () => [...commands.values()].map(({ boxId, execId, process }) => ({ boxId, execId, process })),
    isIdle: () => commands.size === 0 && lingering.count() === 0,
  }
}

interface Held extends HeldCommand {
  running: RunningExec | null
  /** A signal that came before it ran. */
  early: NodeJS.Signals | null
}

type Started = Pick<HeldTask, 'boxId' | 'execId' | 'timeoutMs'>

interface Rings {
  stdout: OutputRing
  stderr: OutputRing
}

// What an ended command left running must not die of writing, nor may there be ever more of it.
function createLingering({ onIdle }: HeldListener): { add(collector: OutputCollector): void; count(): number } {
  const collectors = new Set<OutputCollector>()
  return {
    count: () => collectors.size,
    add: (collector) => {
      collectors.add(collector)
      void collector.released.then(() => {
        collectors.delete(collector)
        onIdle()
      })
      const oldest = collectors.size > LINGERING_MAX ? collectors.values().next().value : undefined
      oldest?.release()
    },
  }
}

function openRings(files: ExecFiles, task: HeldTask): Rings {
  const open = (stream: 'stdout' | 'stderr'): OutputRing => {
    const path = execFile(files.directory, task, stream)
    return new OutputRing({ path, capacity: files.keptBytes, memoryBytes: 0 })
  }
  let stdout: OutputRing | null = null
  try {
    makeExecDirectory(files.directory, task.boxId)
    stdout = open('stdout')
    return { stdout, stderr: open('stderr') }
  } catch (error) {
    stdout?.close()
    if (!isErrno(error, 'ENOSPC', 'EDQUOT')) throw error
    throw new ServiceError('storage_full', 'The host has no room for the output of a command.', { cause: error })
  }
}

// Their files go with the command, at the latest when the agent looks for files of none.
function closeRings({ stdout, stderr }: Rings): void {
  stdout.close()
  stderr.close()
}

async function syncRings(rings: Rings, logger: Logger): Promise<void> {
  try {
    await Promise.all([rings.stdout.sync(), rings.stderr.sync()])
  } catch (error) {
    logger.error('output of a command may not survive a power cut', { error })
  }
  closeRings(rings)
}

function execTaskOf({ handles }: CommandHost, task: HeldTask): ExecTask {
  const { boxId, idBase, user, request, cwd } = task
  return { boxId, idBase, user, request, cwd, isRunning: () => handles.readRunning(boxId) !== null }
}

async function untilEnd(timeoutMs: number | null, running: RunningExec): Promise<Omit<HeldEnd, 'endedAt'>> {
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

const LINGERING_MAX = 256
