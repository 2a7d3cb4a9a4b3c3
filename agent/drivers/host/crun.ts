import fs from 'node:fs'
import { Socket } from 'node:net'
import { run, runOk } from '../../lib/run.ts'
import { closeFd, openPipe } from '../../lib/syscalls/descriptors.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import { startProgram } from '../../lib/syscalls/spawn.ts'
import type { ExitWatcher } from './exit-watcher.ts'
import { buildCompileConfig, FILTER_ANNOTATION, type OciConfig, type OciProcess } from './oci-spec.ts'
import type { SeccompProfile } from './seccomp-profile.ts'
import { signalSession } from './signals.ts'

/** Outcome of one run of crun. */
export interface CrunOutcome {
  /** Pid of the process it started, or null if there is none. */
  pid: number | null
  /** Reason why the process could not execute the program, or empty if it did. */
  message: string
  /** True if a signal ended crun: a kill of the box, an OOM kill, or our deadline. */
  wasKilled: boolean
}

/** Runs crun inside the box's cgroups, so that no process of a box is ever outside of them. */
export interface Crun {
  /** Starts a container from `config`, and resolves when its init runs. */
  start(boxId: string, config: OciConfig, entrances: readonly string[]): Promise<CrunOutcome>
  /** Starts a command, and resolves when crun has executed the program or failed to. The caller keeps the descriptors. */
  exec(boxId: string, process: OciProcess, context: ExecContext): Promise<CrunOutcome>
  /** Returns crun's status file of a container, which a later agent passes to `remember`. */
  status(boxId: string): string
  /** Writes the files that `exec` reads: crun's status and a minimal configuration, since `start` passed its own by a pipe. */
  remember(boxId: string, status: string, config: OciConfig): void
  /** Removes crun's state of a container, whose processes must be gone. An unknown one is a success. */
  forget(boxId: string): void
  /** Resolves once no crun runs for the box. The processes that it left are then children of this process. */
  settled(boxId: string): Promise<void>
}

export interface ExecContext {
  entrances: readonly string[]
  /** Descriptors for 0, 1 and 2. With a terminal, only crun uses them. */
  stdio: readonly [number, number, number]
  /** With a terminal: the executable started in place of the program, as descriptor 3, and the socket that receives the terminal. */
  terminal?: { gateFd: number; doorFd: number }
  /** Without a terminal: an executable started in place of the program, as descriptor 3. */
  programFd?: number
}

export interface CrunSettings {
  crunPath: string
  stateDir: string
  watcher: ExitWatcher
}

/** `crunPath` should be on a read-only mount, or crun copies itself at each run (1.5 ms). `stateDir` holds its state and is the bundle. */
export function createCrun({ crunPath, stateDir, watcher }: CrunSettings): Crun {
  fs.mkdirSync(stateDir, { recursive: true, mode: 0o700 })
  const options = ['--root', stateDir, '--cgroup-manager=disabled', '--log-format=json']
  const log = (context: ExecContext): string => `--log=/proc/self/fd/${programOf(context) === undefined ? 4 : 5}`
  const home = (boxId: string): string => `${stateDir}/${boxId}`
  const running = new Map<string, Set<Promise<unknown>>>()
  let aliases = 0
  const runCrun = (boxId: string, command: Command, context: ExecContext): Promise<CrunOutcome> => {
    const all = running.get(boxId) ?? new Set()
    const input = JSON.stringify(command.input)
    const args = [crunPath, log(context), ...options, ...command.args]
    const outcome = launch(watcher, { ...command, args, input }, context)
    running.set(boxId, all.add(outcome))
    void outcome.finally(() => {
      all.delete(outcome)
      if (all.size === 0 && running.get(boxId) === all) running.delete(boxId)
    })
    return outcome
  }
  return {
    start: (boxId, config, entrances) => {
      const args = ['run', '-d', '--config=/proc/self/fd/3', '--pid-file=/proc/self/fd/4', '-b', stateDir, boxId]
      const command = { args, input: config, oomScore: INIT_OOM_SCORE }
      return inDeadPipes((stdio) => runCrun(boxId, command, { entrances, stdio }))
    },
    exec: async (boxId, process, context) => {
      if (context.terminal === undefined) {
        const own = context.programFd === undefined ? [] : ['--preserve-fds=1']
        const at = 3 + own.length
        const inputs = [`--process=/proc/self/fd/${at}`, `--pid-file=/proc/self/fd/${at + 1}`]
        const args = ['exec', '-d', ...inputs, ...own, boxId]
        return runCrun(boxId, { args, input: process, oomScore: COMMAND_OOM_SCORE }, context)
      }
      const alias = `${boxId}.${aliases++}`
      const inputs = ['--process=/proc/self/fd/4', '--pid-file=/proc/self/fd/5', '--console-socket=/proc/self/fd/6']
      try {
        makeAlias(home(boxId), home(alias), process)
        const args = ['exec', '-d', ...inputs, '--preserve-fds=1', alias]
        return await runCrun(boxId, { args, input: process, oomScore: COMMAND_OOM_SCORE }, context)
      } finally {
        fs.rmSync(home(alias), { recursive: true, force: true })
      }
    },
    status: (boxId) => fs.readFileSync(`${home(boxId)}/status`, 'utf8'),
    remember: (boxId, status, config) => {
      fs.mkdirSync(home(boxId), { recursive: true, mode: 0o700 })
      fs.writeFileSync(`${home(boxId)}/status`, status)
      fs.writeFileSync(`${home(boxId)}/config.json`, JSON.stringify(config))
      // crun uses the annotation only to create a container. For a command it loads the filter from this file, or none.
      fs.writeFileSync(`${home(boxId)}/seccomp.bpf`, filterOf(config))
    },
    forget: (boxId) => fs.rmSync(home(boxId), { recursive: true, force: true }),
    settled: async (boxId) => {
      await Promise.all([...(running.get(boxId) ?? [])])
    },
  }
}

export interface FilterSettings {
  crunPath: string
  workDir: string
  watcher: ExitWatcher
}

/**
 * Compiles a seccomp filter of boxes with crun, in a container that never starts, and returns it in base64. Works in `workDir`, which must
 * outlive this process, so that `removeFilterWork` can clean up after a crash.
 */
export async function compileSeccompFilter(
  { crunPath, workDir, watcher }: FilterSettings,
  profile: SeccompProfile,
): Promise<string> {
  fs.mkdirSync(`${workDir}/root`, { recursive: true, mode: 0o700 })
  fs.writeFileSync(`${workDir}/root/init`, '', { mode: 0o755 })
  const config = buildCompileConfig(`${workDir}/root`, profile)
  fs.writeFileSync(`${workDir}/config.json`, JSON.stringify(config))
  try {
    await runOk(crunPath, [...filterOptions(workDir), 'create', '-b', workDir, 'filter'], FILTER_SETTINGS)
    return fs.readFileSync(`${workDir}/state/filter/seccomp.bpf`).toString('base64')
  } finally {
    const pid = readStatusPid(`${workDir}/state/filter`)
    await removeFilterWork({ crunPath, workDir })
    if (pid !== null) watcher.collect(pid)
  }
}

/** Removes any remains of compiling a filter, maybe of a killed agent: a container that waits for its start, and `workDir`. */
export async function removeFilterWork({ crunPath, workDir }: Omit<FilterSettings, 'watcher'>): Promise<void> {
  if (fs.existsSync(`${workDir}/state/filter`))
    await run(crunPath, [...filterOptions(workDir), 'delete', '--force', 'filter'], FILTER_SETTINGS)
  fs.rmSync(workDir, { recursive: true, force: true })
}

function filterOptions(workDir: string): string[] {
  return ['--root', `${workDir}/state`, '--cgroup-manager=disabled']
}

// Makes an alias of the container with the command's user, because crun gives a terminal to the user of the configuration.
function makeAlias(home: string, alias: string, process: OciProcess): void {
  fs.mkdirSync(alias, { mode: 0o700 })
  try {
    const config = JSON.parse(fs.readFileSync(`${home}/config.json`, 'utf8')) as OciConfig
    fs.writeFileSync(`${alias}/config.json`, JSON.stringify({ ...config, process }))
    for (const name of ['status', 'seccomp.bpf']) fs.symlinkSync(`${home}/${name}`, `${alias}/${name}`)
  } catch (error) {
    // The container is gone: let crun fail to find the alias, too.
    if (!isErrno(error, 'ENOENT')) throw error
  }
}

function filterOf({ annotations }: OciConfig): Buffer {
  return Buffer.from(annotations?.[FILTER_ANNOTATION] ?? '', 'base64')
}

function readStatusPid(directory: string): number | null {
  try {
    const { pid } = JSON.parse(fs.readFileSync(`${directory}/status`, 'utf8')) as { pid?: unknown }
    return typeof pid === 'number' ? pid : null
  } catch {
    return null
  }
}

// Not /dev/null, which crun would chown to the box's root. Init reads EOF and, once crun is done, its writes fail.
async function inDeadPipes<T>(work: (stdio: [number, number, number]) => Promise<T>): Promise<T> {
  const input = openPipe()
  const output = openPipe()
  closeFd(input.writeFd)
  try {
    return await work([input.readFd, output.writeFd, output.writeFd])
  } finally {
    for (const fd of [input.readFd, output.readFd, output.writeFd]) closeFd(fd)
  }
}

/** Arguments of crun, and its input at descriptor 3, or 4 with a terminal. */
interface Command<Input = OciConfig | OciProcess> {
  args: readonly string[]
  input: Input
  /** `oom_score_adj` of the process that it starts. */
  oomScore: number
}

async function launch(watcher: ExitWatcher, command: Command<string>, context: ExecContext): Promise<CrunOutcome> {
  const feed = openPipe()
  const report = openPipe()
  let pid: number
  try {
    const score = String(command.oomScore)
    const args = ['sh', '-c', ENTER, 'enter', score, ...context.entrances, '--', ...command.args]
    const ours = [feed.readFd, report.writeFd]
    const { stdio: first, terminal } = context
    const program = programOf(context)
    const given = [...first, ...(program === undefined ? [] : [program]), ...ours]
    const stdio = terminal === undefined ? given : [...given, terminal.doorFd]
    pid = await startProgram({ path: '/bin/sh', args, env: ENVIRONMENT, stdio })
  } catch (error) {
    for (const fd of [feed.writeFd, report.readFd]) closeFd(fd)
    throw error
  } finally {
    for (const fd of [feed.readFd, report.writeFd]) closeFd(fd)
  }
  feedPipe(feed.writeFd, command.input)
  const deadline = setTimeout(() => signalSession(pid, 'SIGKILL'), DEADLINE_MS)
  return new Promise((resolve) => {
    const collected = collectReport(report.readFd)
    watcher.watch(pid, (status) => {
      clearTimeout(deadline)
      const exitCode = status?.exitCode ?? null
      // The pipe ends when crun has executed the program or failed. After a kill another process may keep it open forever.
      if (exitCode === null) collected.close()
      void collected.whole.then((text) => resolve(outcomeOf(exitCode, text)))
    })
  })
}

/** Returns the executable to start in place of the program. */
function programOf({ terminal, programFd }: ExecContext): number | undefined {
  return terminal?.gateFd ?? programFd
}

function collectReport(fd: number): { whole: Promise<string>; close(): void } {
  const chunks: Buffer[] = []
  const socket = new Socket({ fd, readable: true, writable: false })
  socket.on('error', () => undefined).on('data', (chunk: Buffer) => chunks.push(chunk))
  const whole = new Promise<string>((resolve) => {
    socket.once('close', () => resolve(Buffer.concat(chunks).toString()))
  })
  return { whole, close: () => socket.destroy() }
}

// The report is the pid, if a process was started, then, if it could not execute the program, a JSON log line with the reason.
function outcomeOf(exitCode: number | null, text: string): CrunOutcome {
  const [, pid = '', fault = ''] = /^(\d*)(\{.*\})?/.exec(text) ?? []
  return {
    pid: exitCode === 0 && pid !== '' ? Number(pid) : null,
    message: messageOf(fault),
    wasKilled: exitCode === null,
  }
}

function messageOf(line: string): string {
  try {
    const { msg, level } = JSON.parse(line) as { msg?: unknown; level?: unknown }
    return typeof msg === 'string' && level === 'error' ? msg : ''
  } catch {
    return ''
  }
}

function feedPipe(fd: number, text: string): void {
  const bytes = Buffer.from(text)
  if (bytes.length > PIPE_BYTES) {
    // The text exceeds the pipe, so this writes the rest as crun reads. Ignores EPIPE, since crun's exit shows the failure.
    const socket = new Socket({ fd, readable: false, writable: true })
    socket.on('error', () => undefined).end(bytes)
    return
  }
  try {
    fs.writeSync(fd, bytes)
  } catch (error) {
    if (!isErrno(error, 'EPIPE')) throw error
  } finally {
    closeFd(fd)
  }
}

/** Process name of crun, which must be the file name of `crunPath`. */
export const CRUN_COMMAND = 'crun-program'

// Sets its oom_score_adj to $1, which `crun exec` cannot do, joins the cgroups listed before `--`, and execs the command after it.
// Without CAP_SYS_RESOURCE it may fail to lower the score that it has from the agent.
const ENTER = `
{ echo "$1" >/proc/self/oom_score_adj; } 2>/dev/null
shift
while [ "$1" != -- ]; do echo 0 >"$1" || exit 1; shift; done
shift
exec "$@"`
/** Set also for init, so that a box does not have the score of an agent that its unit protects. */
const INIT_OOM_SCORE = 0
/** The maximum, so that the OOM killer spares the init of the box, and, on a node without memory, the host and other pods. */
const COMMAND_OOM_SCORE = 1000
const ENVIRONMENT = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' }
const DEADLINE_MS = 30_000
const FILTER_SETTINGS = { env: ENVIRONMENT, timeoutMs: DEADLINE_MS }
const PIPE_BYTES = 65_536
