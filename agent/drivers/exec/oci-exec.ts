import type { Logger } from '../../../shared/log.ts'
import { RESUME, refusal } from '../../../shared/refusals.ts'
import type { ChildStatus } from '../../lib/syscalls/children.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import type { ExecExit } from '../../ports/boxes/exec-exit.ts'
import type { ExecRequest, RunningExec } from '../../ports/boxes/runtime.ts'
import type { BoxCgroups } from '../host/cgroup/cgroup.ts'
import { DESCENDANTS_MAX } from '../host/cgroup/delegation.ts'
import type { ProcessRoom } from '../host/cgroup/process-room.ts'
import { CRUN_COMMAND, type Crun, type CrunOutcome } from '../host/crun.ts'
import type { ExitWatcher } from '../host/exit-watcher.ts'
import { readInnerPid } from '../host/handle.ts'
import { type BoxUser, buildExecProcess, type OciProcess, type ProcessLimits } from '../host/oci-spec.ts'
import { signalMembers } from '../host/signals.ts'
import { type ExecEnds, type ExecStreams, openPipes } from './pipes.ts'
import { openTerminal } from './terminal.ts'
import { shownName } from './terminal-gate.ts'

export interface ExecDeps {
  crun: Crun
  cgroups: BoxCgroups
  watcher: ExitWatcher
  logger: Logger
  /** Reads the limits of a command that starts now. */
  processLimits(): ProcessLimits
  /** A directory in memory that only this process uses. */
  workDir: string
  /** Returns a name for the command's cgroup that no other command has. */
  nextName(): string
}

/** A command to start in the running box `boxId`, whose id 0 is `idBase` on the host. */
export interface ExecTask {
  boxId: string
  idBase: number
  /** True if the box started with nesting, so that root gets more capabilities. */
  nesting?: boolean
  user: BoxUser
  request: ExecRequest
  /** Its working directory, from the request or else the user's home. */
  cwd: string
  /** Returns true while the box runs. */
  isRunning(): boolean
  /** Opens the streams of the process, instead of the ones that the request needs. */
  openEnds?(process: OciProcess): ExecEnds
}

/**
 * Starts a command in its own cgroup. A program that cannot start ends with 127 or 126 and a line on stderr, or on its terminal. The
 * command becomes a child of this process, so its wait status distinguishes an exit code from a signal. `outOfMemory` is set if it ended by
 * a SIGKILL (or a shell's 137) that was not sent here while the kernel's OOM killer was active in the box.
 */
export async function startExec(deps: ExecDeps, task: ExecTask): Promise<RunningExec> {
  const { crun, cgroups } = deps
  const name = deps.nextName()
  const ends = openEnds(deps, task)
  const room = cgroups.processRoom(task.boxId)
  if (room.free !== null && room.free < START_PROCESSES) return refusedExec(task, ends, endAtLimit(task, room))
  const before = { oomKills: cgroups.oomKills(task.boxId), refusals: room.refusals }
  let outcome: CrunOutcome
  try {
    createExecCgroup(deps, task, name)
    const entrances = cgroups.entrances(task.boxId, name)
    outcome = await crun.exec(task.boxId, ends.process, { entrances, ...ends.childSide })
  } catch (error) {
    ends.close()
    throw error
  }
  const { pid, message } = outcome
  if (pid === null || message !== '') return failedExec(deps, task, { name, ends, outcome, before })
  const streams = await openStreams(deps, task, { name, ends, pid })
  return watchExec(deps, task, { name, streams, pid, before })
}

/**
 * Derives the exit code and the line on stderr from crun's message about a program it could not start. `program` is null if the terminal
 * starter starts it. Then only the creation of the terminal can have failed. A pure function.
 */
export function explainFailedStart(message: string, program: string | null, cwd: string): Explanation {
  const reason = message.split(': ').at(-1) || 'for a reason of the host'
  if (message.startsWith('chdir ')) return { exitCode: 127, line: `boxyard: cannot enter ${cwd}: ${reason}\n` }
  if (program === null) return { exitCode: 126, line: `boxyard: the box cannot make a terminal: ${reason}\n` }
  if (message.startsWith('executable file ') || /No such file or directory$/.test(message))
    return { exitCode: 127, line: `boxyard: ${shownName(program)}: not found\n` }
  return { exitCode: 126, line: `boxyard: ${shownName(program)}: cannot be started: ${reason}\n` }
}

function openEnds(
  { workDir, processLimits }: ExecDeps,
  { request, cwd, idBase, user, nesting = false, openEnds: openOwn }: ExecTask,
): ExecEnds {
  const process = buildExecProcess({ ...request, cwd, nesting }, user, processLimits())
  if (openOwn !== undefined) return openOwn(process)
  if (request.terminal !== undefined) return openTerminal(workDir, process)
  return openPipes(process, { uid: idBase + user.uid, gid: idBase + user.gid, isMerged: request.mergesOutput === true })
}

function createExecCgroup({ cgroups }: ExecDeps, { boxId, isRunning }: ExecTask, name: string): void {
  try {
    cgroups.createExec(boxId, name)
  } catch (error) {
    if (isErrno(error, 'EAGAIN') && isRunning())
      throw refusal(
        'box_busy',
        [TOO_MANY_CGROUPS, 'Remove some of its own, or stop and start the box, which removes all.'],
        { cause: error },
      )
    throw refusal('box_not_running', ['The box is not running.', RESUME], { cause: error })
  }
}

async function failedExec(deps: ExecDeps, task: ExecTask, start: FailedStart): Promise<RunningExec> {
  const { cgroups, watcher, logger } = deps
  const { name, ends, outcome } = start
  const { pid } = outcome
  const room = cgroups.processRoom(task.boxId, name)
  if (pid === null) killOrphans({ cgroups, watcher }, task.boxId, name)
  else await new Promise((resolve) => watcher.watch(pid, resolve))
  collectStrays(watcher)
  await removeExecCgroup({ cgroups, logger }, task.boxId, name)
  const wasRefused = room.refusals > start.before.refusals
  const isShort = wasRefused || room.free === 0
  const outOfMemory = outcome.wasKilled && !isShort && cgroups.isOutOfMemory(task.boxId, start.before.oomKills)
  const oomKills = outOfMemory ? cgroups.oomKills(task.boxId) - start.before.oomKills : 0
  if (outOfMemory)
    return refusedExec(task, ends, { exitCode: null, signal: 'SIGKILL', outOfMemory, oomKills, line: '' })
  // A message about the program is true of a full box, too, unless a process of the start was refused. Then crun 1.8 crashes, reports "fail
  // startup", or takes its failed fork for the child. In that case it looks for directory and program on the host until a SIGPIPE ends it.
  const isUntold = outcome.wasKilled || outcome.message.endsWith(TRY_AGAIN) || !OF_PROGRAM.test(outcome.message)
  return refusedExec(
    task,
    ends,
    wasRefused || (isShort && isUntold) ? endAtLimit(task, room) : explainEnd(task, outcome),
  )
}

/** The end of a command that did not start, and the line on its stderr. */
interface RefusedEnd extends ExecExit {
  line: string
}

function refusedExec(task: ExecTask, ends: ExecEnds, { line, ...exit }: RefusedEnd): RunningExec {
  if (!task.isRunning()) {
    ends.close()
    throw refusal('box_not_running', ['The box is not running.', RESUME])
  }
  return {
    cwd: task.cwd,
    process: Promise.resolve(null),
    ...ends.refuse(line),
    exited: Promise.resolve(exit),
    signal: () => Promise.resolve(),
  }
}

function endAtLimit(task: ExecTask, { max }: ProcessRoom): RefusedEnd {
  const limit = max === null ? 'processes' : `${max} processes`
  const line = `${cannotStart(task)} the box is at its limit of ${limit}\n`
  return { exitCode: 126, signal: null, outOfMemory: false, reason: 'process_limit_reached', line }
}

function explainEnd(task: ExecTask, { message, wasKilled }: CrunOutcome): RefusedEnd {
  const [program = ''] = task.request.command
  const { exitCode, line } = wasKilled
    ? { exitCode: 126, line: `${cannotStart(task)} its start was killed\n` }
    : explainFailedStart(message, task.request.terminal === undefined ? program : null, task.cwd)
  return { exitCode, signal: null, outOfMemory: false, line }
}

function cannotStart({ request: { command } }: ExecTask): string {
  return `boxyard: ${shownName(command[0] ?? '')}: cannot be started:`
}

async function openStreams(deps: ExecDeps, { boxId }: ExecTask, start: StartingExec): Promise<ExecStreams> {
  const { name, ends, pid } = start
  try {
    return ends.open()
  } catch (error) {
    deps.cgroups.killExec(boxId, name)
    await new Promise((resolve) => deps.watcher.watch(pid, resolve))
    await removeExecCgroup(deps, boxId, name)
    throw error
  }
}

/** Removes a command's cgroup. Logs a failure, since the end of the box removes it anyway. */
export async function removeExecCgroup({ cgroups, logger }: CgroupDeps, boxId: string, name: string): Promise<void> {
  try {
    await cgroups.dissolveExec(boxId, name)
  } catch (error) {
    logger.warn('failed to remove the cgroup of a command', { box: boxId, error })
  }
}

// Kills any processes that crun left in the cgroup when it failed itself, or the OOM killer killed it.
function killOrphans({ cgroups, watcher }: Pick<ExecDeps, 'cgroups' | 'watcher'>, boxId: string, name: string): void {
  const left = cgroups.execProcesses(boxId, name)
  cgroups.killExec(boxId, name)
  for (const each of left) watcher.collect(each)
}

// A process that is about to end is in no cgroup any more, but cannot be reaped yet. Until then it counts against the limit of its box.
function collectStrays(watcher: ExitWatcher): void {
  watcher.collectStrays(CRUN_COMMAND)
  for (const pauseMs of STRAYS_MS) setTimeout(() => watcher.collectStrays(CRUN_COMMAND), pauseMs).unref()
}

function watchExec({ cgroups, watcher, logger }: ExecDeps, task: ExecTask, start: StartedExec): RunningExec {
  const { boxId } = task
  const { name, pid, streams, before } = start
  let isOver = false
  let isKilledHere = false
  const innerPid = readInnerPid(pid)
  // Includes the first process if a box with nesting moved it to a cgroup of its own. Its end is the end of the command.
  const members = (): number[] => [...new Set([pid, ...cgroups.execProcesses(boxId, name)])]
  const unwatchMemory = cgroups.watchMemory(boxId)
  const exited = new Promise<ExecExit>((resolve) => {
    watcher.watch(pid, (status) => {
      isOver = true
      // Read at every end, so that an OOM kill during this command does not count for a later one.
      const isRecent = cgroups.isOutOfMemory(boxId, before.oomKills)
      const isKill = status?.signal === 'SIGKILL' || status?.exitCode === SHELL_KILLED
      const isOutOfMemory = isRecent && !isKilledHere && isKill
      const counted = cgroups.execOomKills(boxId, name) ?? cgroups.oomKills(boxId) - before.oomKills
      unwatchMemory()
      if (task.request.endsWhole === true) cgroups.killExec(boxId, name)
      void removeExecCgroup({ cgroups, logger }, boxId, name)
      resolve(exitOf(status, isOutOfMemory, Math.max(counted, isOutOfMemory ? 1 : 0)))
    })
  })
  return {
    cwd: task.cwd,
    process: Promise.resolve(innerPid),
    ...streams,
    exited,
    signal: (signal) => {
      if (isOver) return Promise.resolve()
      if (signal === 'SIGKILL') {
        isKilledHere = true
        cgroups.killExec(boxId, name)
      }
      signalMembers(members, signal)
      return Promise.resolve()
    },
  }
}

type CgroupDeps = Pick<ExecDeps, 'cgroups' | 'logger'>

interface Explanation {
  exitCode: number
  /** The line on stderr. */
  line: string
}

/** Counters of the box before a start. */
interface CountsBefore {
  oomKills: number
  /** Number of refused processes. */
  refusals: number
}

interface FailedStart {
  name: string
  ends: ExecEnds
  outcome: CrunOutcome
  before: CountsBefore
}

interface StartingExec {
  name: string
  ends: ExecEnds
  pid: number
}

interface StartedExec {
  name: string
  streams: ExecStreams
  pid: number
  before: CountsBefore
}

function exitOf(status: ChildStatus | null, outOfMemory: boolean, oomKills: number): ExecExit {
  // No status, because another process reaped it. Report SIGKILL, since success cannot be assumed.
  const signal = status === null ? 'SIGKILL' : status.signal
  return { exitCode: status?.exitCode ?? null, signal, outOfMemory, ...(oomKills > 0 ? { oomKills } : {}) }
}

const TOO_MANY_CGROUPS = `The box has ${DESCENDANTS_MAX} cgroups, the most it may have.`
const SHELL_KILLED = 137
const TRY_AGAIN = 'Resource temporarily unavailable'
const OF_PROGRAM = /^(chdir|executable file|open executable|exec)\b/
/**
 * Processes of a start at once: crun, the child that enters the box, and the program. With less left, crun does not start, because version
 * 1.8 takes its own failed fork for the new process.
 */
const START_PROCESSES = 3
// On a busy host, processes that crun left end late.
const STRAYS_MS = [50, 1_000, 10_000]
