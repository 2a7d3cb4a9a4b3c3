import type { ChildProcess, IOType } from 'node:child_process'
import { spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { ProgramError } from './program-error.ts'

/** One of the child's first descriptors: a new pipe, a descriptor number of this process, or `ignore` (/dev/null). */
export type ChildStdio = Extract<IOType, 'pipe' | 'ignore'> | number

export interface SpawnOptions {
  /** Whole environment. By default it is inherited. */
  env?: Record<string, string>
  cwd?: string
  /** Descriptors 0, 1, 2 and onwards. Default three pipes. Never give crun `ignore`, because it would chown the host's /dev/null. */
  stdio?: readonly ChildStdio[]
}

export interface RunOptions extends SpawnOptions {
  /** Data written to stdin, which is then closed. Default: none. */
  input?: string | Buffer
  /** Time limit after which the process group is ended. The result then has `timedOut`. */
  timeoutMs?: number
  /** Ends the process group. `run` then rejects with the signal's reason once the child is gone. */
  signal?: AbortSignal
  /** Bytes kept of stdout and of stderr each (default 1 MiB). The rest is read and dropped. */
  maxOutputBytes?: number
  /** Receives stderr as it arrives. */
  onStderr?: (text: string) => void
}

/** Exit status and output of a command. */
export interface RunResult {
  /** Null if a signal ended it. */
  exitCode: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
  timedOut: boolean
  /** True if output beyond `maxOutputBytes` was dropped. */
  truncated: boolean
}

/** A command of the agent that did not end with exit code 0. Its fields have the details. */
export class CommandError extends ProgramError {
  override readonly name = 'CommandError'
  readonly command: string
  readonly args: readonly string[]
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
  readonly timedOut: boolean

  constructor(command: string, args: readonly string[], result: RunResult) {
    const reason = result.stderr.trim().slice(-500) || `exit ${result.exitCode ?? result.signal}`
    super(`${command} failed: ${reason}`, result.stderr)
    this.command = command
    this.args = args
    this.exitCode = result.exitCode
    this.signal = result.signal
    this.stdout = result.stdout
    this.stderr = result.stderr
    this.timedOut = result.timedOut
  }
}

/**
 * Runs a program in its own session to its end, without a shell. Rejects if it cannot be started (`code` ENOENT,
 * EACCES) or `signal` aborts. Any exit is a result. Pipes that other processes keep open are dropped 250 ms after the exit.
 */
export async function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  options.signal?.throwIfAborted()
  const child = spawnChild(command, args, options)
  const limit = options.maxOutputBytes ?? DEFAULT_OUTPUT_BYTES
  const stdout = collect(child.stdout, limit)
  const stderr = collect(child.stderr, limit, options.onStderr)
  feed(child, options.input)
  const ending = endOn(child, options)
  try {
    const [exitCode, signal] = await waitForEnd(child)
    if (ending.reason === 'abort') throw options.signal?.reason
    const truncated = stdout.isTruncated() || stderr.isTruncated()
    return {
      exitCode,
      signal,
      stdout: stdout.text(),
      stderr: stderr.text(),
      timedOut: ending.reason === 'timeout',
      truncated,
    }
  } finally {
    ending.dispose()
  }
}

/** Like `run`, but rejects with a CommandError unless the exit code is 0 and the command did not time out. */
export async function runOk(command: string, args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  const result = await run(command, args, options)
  if (result.exitCode !== 0 || result.timedOut) throw new CommandError(command, args, result)
  return result
}

/**
 * Starts a program in its own session, without a shell, and returns it unwrapped. The caller listens to `error` and `exit`. The child
 * inherits only the descriptors in `stdio`.
 */
export function spawnChild(command: string, args: readonly string[], options: SpawnOptions = {}): ChildProcess {
  return spawn(command, args, {
    detached: true,
    stdio: options.stdio === undefined ? ['pipe', 'pipe', 'pipe'] : [...options.stdio],
    ...(options.env === undefined ? {} : { env: options.env }),
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  })
}

/** Signals the process group of a child made by `spawnChild`. Returns false if it is gone. */
export function killGroup(child: ChildProcess, signal: NodeJS.Signals): boolean {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return false
  try {
    process.kill(-child.pid, signal)
    return true
  } catch {
    return false
  }
}

function feed(child: ChildProcess, input: string | Buffer | undefined): void {
  // Ignore EPIPE: a child may end without reading its input.
  child.stdin?.on('error', () => undefined)
  child.stdin?.end(input)
}

interface Collected {
  text(): string
  isTruncated(): boolean
}

function collect(stream: Readable | null, limitBytes: number, onText?: (text: string) => void): Collected {
  const chunks: Buffer[] = []
  let size = 0
  let truncated = false
  stream?.on('error', () => undefined)
  stream?.on('data', (chunk: Buffer) => {
    onText?.(chunk.toString())
    const kept = chunk.subarray(0, Math.max(0, limitBytes - size))
    if (kept.length < chunk.length) truncated = true
    if (kept.length > 0) chunks.push(kept)
    size += kept.length
  })
  return { text: () => Buffer.concat(chunks).toString(), isTruncated: () => truncated }
}

interface Ending {
  reason: 'timeout' | 'abort' | null
  dispose(): void
}

function endOn(child: ChildProcess, options: RunOptions): Ending {
  let forced: NodeJS.Timeout | undefined
  const end = (reason: 'timeout' | 'abort'): void => {
    if (ending.reason !== null || !killGroup(child, 'SIGTERM')) return
    ending.reason = reason
    forced = setTimeout(() => killGroup(child, 'SIGKILL'), KILL_GRACE_MS)
  }
  const onAbort = (): void => end('abort')
  const timer = options.timeoutMs === undefined ? undefined : setTimeout(() => end('timeout'), options.timeoutMs)
  options.signal?.addEventListener('abort', onAbort, { once: true })
  const ending: Ending = {
    reason: null,
    dispose: () => {
      clearTimeout(timer)
      clearTimeout(forced)
      options.signal?.removeEventListener('abort', onAbort)
    },
  }
  return ending
}

function waitForEnd(child: ChildProcess): Promise<[number | null, NodeJS.Signals | null]> {
  return new Promise((resolve, reject) => {
    let drain: NodeJS.Timeout | undefined
    child.once('error', reject)
    child.once('exit', () => {
      drain = setTimeout(() => {
        child.stdout?.destroy()
        child.stderr?.destroy()
      }, DRAIN_MS)
    })
    child.once('close', (exitCode, signal) => {
      clearTimeout(drain)
      resolve([exitCode, signal])
    })
  })
}

const DEFAULT_OUTPUT_BYTES = 1024 * 1024
const KILL_GRACE_MS = 2_000
const DRAIN_MS = 250
