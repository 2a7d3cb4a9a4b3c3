import { endExec, endStarted, type OnAbort, openEnded, whenAborted } from './aborts.ts'
import { ApiError, ConnectionError } from './api-error.ts'
import type { AnswerOf, Caller, CallInput } from './calls.ts'
import { CHANNEL_PROTOCOL, channelsOf } from './channel-socket.ts'
import type { Doors, Query } from './doors.ts'
import { type ExecEnd, endByCode, shortageOf } from './exec-ends.ts'
import { sendStart, startOf } from './exec-starts.ts'
import type { MessageSocket } from './message-socket.ts'
import { checkId, unexpectedAnswer } from './problems.ts'
import { Pace, pause } from './retries.ts'
import {
  type AgentListener,
  createTerminalStream,
  type OutputPiece,
  type Resume,
  type TerminalStream,
} from './terminal-stream.ts'
import { unlessAborted } from './unless-aborted.ts'

export type ExecRecord = AnswerOf<'getExec'>

/** A box of a project. */
export interface BoxRef {
  project: string
  name: string
}

export interface ExecOptions {
  cwd?: string | undefined
  user?: string | undefined
  env?: Record<string, string> | undefined
  timeoutSeconds?: number | undefined
  /** Keeps the command running when its client leaves or the service restarts. Its stream resumes automatically. */
  noHup?: boolean | undefined
  /** Ends the stream at once. All pending reads and writes reject with the signal's reason. */
  signal?: AbortSignal | undefined
  /** Effect of an abort on the command: `end` (default) stops it, `detach` leaves it running, as `close` does. */
  onAbort?: OnAbort | undefined
}

export interface StreamOptions extends ExecOptions {
  /** Whether a lost stream resumes automatically over HTTP. Default: the value of `noHup`. */
  resumes?: boolean | undefined
  /** Whether you will write input. Otherwise the command's input is empty. */
  stdin?: boolean | undefined
  tty?: boolean | undefined
  /** Size of the terminal in characters. */
  cols?: number | undefined
  rows?: number | undefined
  /**
   * Offers an SSH agent to the command, which finds it by SSH_AUTH_SOCK. Runs while you iterate over the output. Answer with `answerAgent`,
   * and send no bytes once the agent has closed its end.
   */
  sshAgent?: AgentListener | undefined
}

export interface ConsoleOptions {
  session?: string | undefined
  shell?: string | undefined
  user?: string | undefined
  cwd?: string | undefined
  typing?: 'all' | 'one' | 'none' | undefined
  cols?: number | undefined
  rows?: number | undefined
  /** Detaches at once. The console keeps running. */
  signal?: AbortSignal | undefined
}

/** Options of a command that runs to its end. */
export interface RunControl {
  /** Aborting it ends the command. The call rejects with its reason after that, within 5 s. */
  signal?: AbortSignal | undefined
  /** Effect of an abort on the command: `end` (default) stops it, `detach` leaves it running and rejects at once. */
  onAbort?: OnAbort | undefined
  /** Called with the id of the record once the command has started. */
  onStarted?: ((id: string) => void) | undefined
}

/** Runs a command to its end, however long it takes, and returns its record with the last 1 MiB of each stream. */
export async function runExec(
  caller: Caller,
  { project, name }: BoxRef,
  request: CallInput<'createExec'>['body'] & RunControl,
): Promise<AnswerOf<'createExec'>> {
  const { signal, onAbort = 'end', onStarted, ...body } = request
  signal?.throwIfAborted()
  // Only the id in the answer makes it possible to end the command. The answer therefore comes at once, and no abort stops this request.
  const query = signal === undefined && onStarted === undefined ? {} : { wait_seconds: 0 }
  const started = caller.call('createExec', { path: { project, name }, query, body })
  try {
    let exec: AnswerOf<'createExec'> = await unlessAborted(started, signal)
    onStarted?.(exec.id)
    const path = { project, name, exec: checkId(exec.id) }
    const { encoding } = body
    const pace = new Pace()
    while (exec.status === 'running') {
      await pace.wait(signal)
      const wait = { wait_seconds: 25, ...(encoding === undefined ? {} : { encoding }) }
      exec = await caller.call('getExec', { path, query: wait, signal })
    }
    return { ...exec, exit_code: codeOf(exec) }
  } catch (error) {
    if (signal?.aborted === true && onAbort === 'end') await endStarted(caller, { project, name }, started)
    throw error
  }
}

/** Starts a command and streams it over a WebSocket. With `resumes`, a lost stream resumes at the offsets of its record. */
export async function streamExec(
  deps: { caller: Caller; doors: Doors },
  box: BoxRef,
  { command, ...options }: StreamOptions & { command: readonly string[] },
): Promise<TerminalStream> {
  const {
    stdin,
    tty,
    cwd,
    user,
    cols,
    rows,
    noHup,
    timeoutSeconds,
    env = {},
    signal,
    resumes = noHup,
    sshAgent,
  } = options
  signal?.throwIfAborted()
  const times = { no_hup: noHup, timeout_seconds: timeoutSeconds }
  const agent = { ssh_agent: sshAgent === undefined ? undefined : true }
  const query = queryOf({ stdin, tty, cwd, user, cols, rows, ...times, ...agent })
  const start = startOf(command, env)
  const queuedMaxBytes = tty === true ? TERMINAL_QUEUED_BYTES : undefined
  const open = async (bound: AbortSignal | undefined): Promise<MessageSocket> => {
    const target = { ...box, query: { ...query, ...start.query }, queuedMaxBytes, signal: bound }
    const socket = await deps.doors.openSocket('streamExec', target, CHANNEL_PROTOCOL)
    if (start.message !== null) await sendStart(socket, start.message)
    return socket
  }
  // The service ends a command when its client leaves. Ending a command with `noHup` takes its id, which only the opening returns. No abort
  // therefore stops the opening.
  if (noHup !== true || options.onAbort === 'detach' || signal === undefined) {
    const resume: Resume = (id, offsets) => followExec(deps.caller, { ...box, exec: id, offsets, signal })
    return createTerminalStream(channelsOf(await open(signal)), resumes === true ? resume : null, sshAgent)
  }
  const socket = await openEnded(deps.caller, box, { open, signal })
  let release = (): void => undefined
  const resume: Resume = async function* (id, offsets) {
    // Applies also if the reader has stopped iterating, until it closes the stream.
    release = whenAborted(signal, () => void endExec(deps.caller, { ...box, exec: id }))
    try {
      const end = yield* followExec(deps.caller, { ...box, exec: id, offsets, signal })
      release()
      return end
    } catch (error) {
      release()
      throw error
    }
  }
  const stream = createTerminalStream(channelsOf(socket), resumes === true ? resume : null, sshAgent)
  const close = (): void => {
    release()
    stream.close()
  }
  return { ...stream, close }
}

/** Attaches to a console of the box, or starts one if it does not exist. The console keeps running when its clients leave. */
export async function openConsole(doors: Doors, box: BoxRef, options: ConsoleOptions): Promise<TerminalStream> {
  const { signal, ...fields } = options
  const target = { ...box, query: queryOf(fields), queuedMaxBytes: TERMINAL_QUEUED_BYTES, signal }
  const socket = await doors.openSocket('openConsole', target, CHANNEL_PROTOCOL)
  return createTerminalStream(channelsOf(socket), 'anew')
}

export interface ExecFollow extends BoxRef {
  exec: string
  /** Offset to begin at, in bytes. */
  offsets: Record<OutputPiece['stream'], number>
  /** Called with the number of bytes that the service no longer keeps and the stream omits. */
  onMissing?: ((stream: OutputPiece['stream'], bytes: number) => void) | undefined
  signal?: AbortSignal | undefined
}

/** Follows a command over HTTP from these offsets to its end, across restarts of the service. */
export async function* followExec(caller: Caller, follow: ExecFollow): AsyncGenerator<OutputPiece, ExecEnd> {
  const { project, name, exec, signal } = follow
  const path = { project, name, exec: checkId(exec) }
  const paces = { stdout: new Pace(), stderr: new Pace() }
  const read = async (stream: OutputPiece['stream'], offset: number): Promise<OutputPage> => {
    await paces[stream].wait(signal)
    const query = { stream, offset, encoding: 'base64' as const, wait_seconds: 20 }
    const page = await persist(() => caller.call('getExecOutput', { path, query, signal }), signal)
    return { stream, offset, page }
  }
  const reading = new Map([
    ['stdout', read('stdout', follow.offsets.stdout)],
    ['stderr', read('stderr', follow.offsets.stderr)],
  ])
  while (reading.size > 0) {
    const { stream, offset, page } = await Promise.race(reading.values())
    const bytes = bytesOf(page.data)
    // Otherwise the same bytes would repeat forever.
    if (!Number.isSafeInteger(page.next_offset) || page.next_offset < offset + bytes.length)
      throw unexpectedAnswer(200, `The service sent a wrong next offset after ${bytes.length} bytes from ${offset}.`)
    if (page.truncated) follow.onMissing?.(stream, page.offset - offset)
    if (bytes.length > 0) {
      paces[stream].reset()
      yield { stream, bytes }
    }
    if (page.end) reading.delete(stream)
    else reading.set(stream, read(stream, page.next_offset))
  }
  const query = { wait_seconds: 25 }
  const pace = new Pace()
  for (;;) {
    await pace.wait(signal)
    const record = await persist(() => caller.call('getExec', { path, query, signal }), signal)
    if (record.status !== 'running') return endOfRecord(record)
  }
}

interface OutputPage {
  stream: OutputPiece['stream']
  offset: number
  page: AnswerOf<'getExecOutput'>
}

/** Repeats a read for some minutes while the service is unavailable. */
export async function persist<T>(read: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await read()
    } catch (error) {
      const isAway = error instanceof ConnectionError || (error instanceof ApiError && AWAY.has(error.status))
      if (!isAway || attempt === PATIENCE) throw error
      await pause(1000, signal)
    }
  }
}

function endOfRecord({ exit_code: code, signal, status, reason, oom_kills: kills }: ExecRecord): ExecEnd {
  const more = shortageOf(reason, kills)
  const shortage = more.oomKills === undefined ? null : `Out of memory: ${more.oomKills} processes were killed.`
  if (code !== null) return { ...endByCode(code, shortage), ...more }
  const number = signal === null ? undefined : SIGNAL_NUMBERS[signal]
  return {
    exitCode: number === undefined ? null : 128 + number,
    message: shortage ?? signal ?? `The command is ${status}.`,
    ...more,
  }
}

function queryOf(fields: Record<string, string | number | boolean | undefined>): Query {
  const query: Query = {}
  for (const [key, value] of Object.entries(fields)) if (value !== undefined) query[key] = String(value)
  return query
}

/** Returns the exit code of a record, or null if the code is invalid. */
function codeOf({ exit_code: code }: ExecRecord): number | null {
  return code === null ? null : endByCode(code, null).exitCode
}

function bytesOf(base64: unknown): Uint8Array {
  try {
    return Uint8Array.from(atob(base64 as string), (character) => character.charCodeAt(0))
  } catch {
    throw unexpectedAnswer(200, 'The service sent output that is not base64.')
  }
}

/**
 * Output of a terminal that may wait for its reader. A page shows this much in a fraction of a second, and a key that stops a flood takes
 * effect after it.
 */
const TERMINAL_QUEUED_BYTES = 128 * 1024
const AWAY = new Set([502, 503, 504])
const PATIENCE = 120
/** Signals that end commands, on Linux of every supported architecture. */
const SIGNAL_NUMBERS: Readonly<Record<string, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGILL: 4,
  SIGTRAP: 5,
  SIGABRT: 6,
  SIGBUS: 7,
  SIGFPE: 8,
  SIGKILL: 9,
  SIGUSR1: 10,
  SIGSEGV: 11,
  SIGUSR2: 12,
  SIGPIPE: 13,
  SIGALRM: 14,
  SIGTERM: 15,
  SIGXCPU: 24,
  SIGXFSZ: 25,
  SIGSYS: 31,
}
