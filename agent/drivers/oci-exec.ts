import { Socket } from 'node:net'
import { Readable, type Writable } from 'node:stream'
import { ServiceError } from '../../shared/errors.ts'
import type { Logger } from '../../shared/log.ts'
import { changeOwner, closeFd, openPipe } from '../lib/syscalls.ts'
import type { ChildStatus } from '../lib/syscalls-children.ts'
import type { ExecExit, ExecRequest, RunningExec } from '../ports/runtime.ts'
import type { BoxCgroups } from './box-cgroup.ts'
import { readInnerPid } from './box-handle.ts'
import { signalMembers } from './box-signals.ts'
import { CRUN_COMMAND, type Crun, type CrunOutcome } from './crun.ts'
import type { ExitWatcher } from './exit-watcher.ts'
import { type BoxUser, buildExecProcess, type FileLimit } from './oci-spec.ts'

export interface ExecDeps {
  crun: Crun
  cgroups: BoxCgroups
  watcher: ExitWatcher
  logger: Logger
  fileLimit: FileLimit
  /** A name for the command's cgroup that no other command has. */
  nextName(): string
}

/** A command to start in the running box `boxId`, whose id 0 is `idBase` on the host. */
export interface ExecTask {
  boxId: string
  idBase: number
  user: BoxUser
  request: ExecRequest
  /** Where it starts: what the request says, or the user's home. */
  cwd: string
  /** Whether the box runs now. */
  isRunning(): boolean
}

/**
 * Starts a command in a cgroup of its own. A program that cannot be started ends with 127 or 126 and a line on stderr.
 * Exit and signal are told apart as the kernel does: the command is this process's child. `outOfMemory` says that it ended
 * by SIGKILL (or a shell's 137) that was not sent here, when the kernel ended a process of the box for want of memory.
 */
export async function startExec(deps: ExecDeps, task: ExecTask): Promise<RunningExec> {
  const { crun, cgroups } = deps
  const name = deps.nextName()
  const pipes = openPipes(task)
  const oomKillsBefore = cgroups.oomKills(task.boxId)
  let outcome: CrunOutcome
  try {
    createExecCgroup(deps, task.boxId, name)
    const process = buildExecProcess({ ...task.request, cwd: task.cwd }, task.user, deps.fileLimit)
    const entrances = cgroups.entrances(task.boxId, name)
    outcome = await crun.exec(task.boxId, process, { entrances, stdio: pipes.theirs })
  } catch (error) {
    pipes.closeAll()
    throw error
  }
  pipes.closeTheirs()
  const { pid, message } = outcome
  if (pid === null || message !== '') return failedExec(deps, task, { name, pipes, outcome, oomKillsBefore })
  return watchExec(deps, task, { name, pipes, pid, oomKillsBefore })
}

/** The line on stderr and the exit code for a program that crun could not start, from what crun said. A pure function. */
export function explainFailedStart(message: string, program: string, cwd: string): { exitCode: number; line: string } {
  const reason = message.split(': ').at(-1) || 'for a reason of the host'
  if (message.startsWith('chdir ')) return { exitCode: 127, line: `boxyard: cannot enter ${cwd}: ${reason}\n` }
  if (message.startsWith('executable file ') || /No such file or directory$/.test(message))
    return { exitCode: 127, line: `boxyard: ${program}: not found\n` }
  return { exitCode: 126, line: `boxyard: ${program}: cannot be started: ${reason}\n` }
}

function createExecCgroup({ cgroups }: ExecDeps, boxId: string, name: string): void {
  try {
    cgroups.createExec(boxId, name)
  } catch (error) {
    throw new ServiceError('box_not_running', 'The box is not running.', { cause: error })
  }
}

interface ExecPipes {
  theirs: [number, number, number]
  closeTheirs(): void
  closeAll(): void
  stdin(): Writable
  stdout(): Readable
  stderr(): Readable
}

// The pipes belong to the user, so that /dev/stdout and its kin can be opened anew.
function openPipes({ idBase, user }: ExecTask): ExecPipes {
  const [input, output, error] = [openPipe(), openPipe(), openPipe()]
  for (const { readFd } of [input, output, error]) changeOwner(readFd, idBase + user.uid, idBase + user.gid)
  const theirs: [number, number, number] = [input.readFd, output.writeFd, error.writeFd]
  const closeTheirs = (): void => theirs.forEach(closeFd)
  return {
    theirs,
    closeTheirs,
    closeAll: () => [...theirs, input.writeFd, output.readFd, error.readFd].forEach(closeFd),
    stdin: () => guarded(new Socket({ fd: input.writeFd, readable: false, writable: true })),
    stdout: () => guarded(new Socket({ fd: output.readFd, readable: true, writable: false })),
    stderr: () => guarded(new Socket({ fd: error.readFd, readable: true, writable: false })),
  }
}

// A box that closes its end, or is killed, is no fault of whoever reads and writes here.
function guarded(socket: Socket): Socket {
  return socket.on('error', () => undefined)
}

async function failedExec(deps: ExecDeps, task: ExecTask, start: FailedStart): Promise<RunningExec> {
  const { cgroups, watcher, logger } = deps
  const { name, pipes, outcome } = start
  // Nothing but crun has written so far, and its words are not the command's.
  pipes.stderr().destroy()
  const [stdin, stdout] = [pipes.stdin(), pipes.stdout()]
  const { pid } = outcome
  if (outcome.wasKilled) endLeft({ cgroups, watcher }, task.boxId, name)
  else if (pid !== null) await new Promise((resolve) => watcher.watch(pid, resolve))
  watcher.collectStrays(CRUN_COMMAND)
  await dissolve({ cgroups, logger }, task.boxId, name)
  if (!task.isRunning()) {
    stdin.destroy()
    stdout.destroy()
    throw new ServiceError('box_not_running', 'The box is not running.')
  }
  const outOfMemory = outcome.wasKilled && cgroups.isOutOfMemory(task.boxId, start.oomKillsBefore)
  const { exitCode, line } = explainFailedStart(outcome.message, task.request.command[0] ?? '', task.cwd)
  const exit: ExecExit = outcome.wasKilled
    ? { exitCode: null, signal: 'SIGKILL', outOfMemory }
    : { exitCode, signal: null, outOfMemory }
  return {
    cwd: task.cwd,
    process: Promise.resolve(null),
    stdin,
    stdout,
    stderr: Readable.from(outcome.wasKilled ? [] : [Buffer.from(line)]),
    exited: Promise.resolve(exit),
    signal: () => Promise.resolve(),
  }
}

/** Removes a command's cgroup; a failure is logged, since the box's end removes it at last. */
export async function dissolve({ cgroups, logger }: CgroupDeps, boxId: string, name: string): Promise<void> {
  try {
    await cgroups.dissolveExec(boxId, name)
  } catch (error) {
    logger.warn('cgroup of a command could not be removed', { box: boxId, error })
  }
}

// Where crun alone was killed, for want of memory, it may have left the program behind, which nobody knows.
function endLeft({ cgroups, watcher }: Pick<ExecDeps, 'cgroups' | 'watcher'>, boxId: string, name: string): void {
  const left = cgroups.execProcesses(boxId, name)
  cgroups.killExec(boxId, name)
  for (const each of left) watcher.collect(each)
}

function watchExec({ cgroups, watcher, logger }: ExecDeps, task: ExecTask, start: GoodStart): RunningExec {
  const { boxId } = task
  const { name, pid, pipes, oomKillsBefore } = start
  let isOver = false
  let isKilledHere = false
  const innerPid = readInnerPid(pid)
  const unwatchMemory = cgroups.watchMemory(boxId)
  const exited = new Promise<ExecExit>((resolve) => {
    watcher.watch(pid, (status) => {
      isOver = true
      // Asked at every end, so that what ended a part of this one is not taken for the end of another, later.
      const isRecent = cgroups.isOutOfMemory(boxId, oomKillsBefore)
      const isOutOfMemory = isRecent && !isKilledHere && isKill(status)
      unwatchMemory()
      void dissolve({ cgroups, logger }, boxId, name)
      resolve(exitOf(status, isOutOfMemory))
    })
  })
  return {
    cwd: task.cwd,
    process: Promise.resolve(innerPid),
    stdin: pipes.stdin(),
    stdout: pipes.stdout(),
    stderr: pipes.stderr(),
    exited,
    signal: (signal) => {
      if (isOver) return Promise.resolve()
      if (signal === 'SIGKILL') {
        isKilledHere = true
        cgroups.killExec(boxId, name)
      } else signalMembers(() => cgroups.execProcesses(boxId, name), signal)
      return Promise.resolve()
    },
  }
}

type CgroupDeps = Pick<ExecDeps, 'cgroups' | 'logger'>

interface FailedStart {
  name: string
  pipes: ExecPipes
  outcome: CrunOutcome
  oomKillsBefore: number
}

interface GoodStart {
  name: string
  pipes: ExecPipes
  pid: number
  oomKillsBefore: number
}

function isKill(status: ChildStatus | null): boolean {
  return status?.signal === 'SIGKILL' || status?.exitCode === SHELL_KILLED
}

function exitOf(status: ChildStatus | null, outOfMemory: boolean): ExecExit {
  // Without a status it was collected by nobody we know: all that is certain is that it did not end well.
  return { exitCode: status?.exitCode ?? null, signal: status === null ? 'SIGKILL' : status.signal, outOfMemory }
}

const SHELL_KILLED = 137
