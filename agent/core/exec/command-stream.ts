import { Readable, Writable } from 'node:stream'
import type { ExecReason } from '../../../shared/schemas/exec.ts'
import type { ExecStreamQuery } from '../../../shared/schemas/exec-streams.ts'
import type { AttachedExec, Terminal } from '../../ports/boxes/runtime.ts'
import type { OutputStream } from '../../ports/exec/outputs.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { ExecRecord } from '../../ports/store/exec.ts'
import { boxAccounts } from '../common/accounts.ts'
import { checkEnvironment } from '../common/environment.ts'
import { AgentChannel } from './agent-channel.ts'
import type { LiveExec } from './live-exec.ts'
import { type ExecOptions, type ExecStart, type ExecStartDeps, newStart, startDetached, startRunning } from './start.ts'

/** How a streamed command ended. */
export interface StreamEnd {
  /** Null if a signal ended it, or if unknown. */
  exitCode: number | null
  /** Such as `SIGKILL`. Null if it exited, or if unknown. */
  signal: string | null
  /** A message for the client, such as a time-out. Null if there is none. */
  note: string | null
  /** As in `ExecExit`. */
  reason?: ExecReason | undefined
  oomKills?: number | undefined
}

/** A command or a console session, as streamed by one client. */
export interface CommandStream {
  /** `exe_…` or `ses_…`. */
  readonly id: string
  /** Program and arguments of a session that was started for the client. Absent for others. */
  readonly command?: readonly string[]
  /** Ending it closes the command's input. Drops writes without an error once the command does not read any more. */
  readonly stdin: Writable
  /** Both end once the command has ended and its output is read. While they are not read the command blocks. */
  readonly stdout: Readable
  readonly stderr: Readable
  readonly terminal: Terminal | null
  /** The connections to the client's SSH agent. Undefined if the client has not offered one. */
  readonly agent?: Pick<AgentChannel, 'output' | 'take'>
  /** True: its output comes by turns of its project already, so that what waits is in its pipe and not in memory. */
  readonly comesByTurns: boolean
  /** True if it keeps running when its client disconnects, and can be streamed or read again. */
  readonly outlivesClient: boolean
  /** Resolves with its end, once that is durable. Output may still be unread. Never rejects. */
  readonly ended: Promise<StreamEnd>
  /**
   * Call if the client disconnects before the end was sent to it. Hangs up the command unless it outlives the client, and destroys the
   * streams.
   */
  disconnect(): void
}

/** `onStarted` is called as soon as the command runs, even if the stream fails afterwards. */
export interface StreamStartDeps extends ExecStartDeps {
  onStarted(live: LiveExec): void
}

/** The request of a client, and the id that the client got before. Null for none. */
export type StreamStart = ExecStreamQuery & { id: string | null }

/**
 * Starts a command for a WebSocket. With `no_hup` a detached one, which outlives the client. With `ssh_agent`, a socket in the box leads
 * to the client for as long as the command runs and the client is there.
 */
export async function launchStream(deps: StreamStartDeps, box: BoxRecord, query: StreamStart): Promise<CommandStream> {
  const env = variablesOf(query.env)
  checkEnvironment(env)
  if (!query.ssh_agent) return launchWith(deps, box, { query, env })
  const accounts = boxAccounts(box, deps.actorContext.current())
  const socket = await deps.runtime.openSocket(box.id, { user: query.user ?? null, accounts })
  const agent = new AgentChannel(socket)
  try {
    const stream = await launchWith(deps, box, { query, env: { ...env, SSH_AUTH_SOCK: socket.path } })
    return withAgent(stream, agent)
  } catch (error) {
    await agent.close()
    throw error
  }
}

/** Ties the connections to an agent to a command. They are gone when a client reads how the command ended. */
function withAgent(stream: CommandStream, agent: AgentChannel): CommandStream {
  const disconnect = (): void => {
    void agent.close()
    stream.disconnect()
  }
  const ended = stream.ended.then(async (end) => {
    await agent.close()
    return end
  })
  return { ...stream, agent, ended, disconnect }
}

function launchWith(
  deps: StreamStartDeps,
  box: BoxRecord,
  { query, env }: { query: StreamStart; env: Record<string, string> },
): Promise<CommandStream> {
  const { cols, rows, cwd, user, command } = query
  const options: ExecOptions = {
    id: query.id,
    command,
    cwd,
    env,
    user,
    terminal: query.tty ? { cols, rows } : null,
    detached: query.no_hup,
    timeoutSeconds: query.timeout_seconds,
  }
  const start = newStart(deps, box, options)
  return query.no_hup ? streamDetached(deps, start, query) : streamRunning(deps, start, query)
}

/** Converts the record of an ended command to the end of its stream. A pure function. */
export function streamEndOf({ exitCode, signal, status, reason, oomKills }: ExecRecord): StreamEnd {
  return { exitCode, signal, note: NOTES[status] ?? endingNote({ reason, oomKills }), reason, oomKills }
}

/** Returns the message about an end that its exit code does not show. Null if the code is enough. Pure. */
export function endingNote({ reason, oomKills = 0 }: Pick<StreamEnd, 'reason' | 'oomKills'>): string | null {
  if (reason !== undefined) return REASONS[reason]
  if (oomKills === 0) return null
  const processes = oomKills === 1 ? '1 process' : `${oomKills} processes`
  return `Out of memory: the kernel killed ${processes} while the command ran, because the memory of the box was full.`
}

/** The end of a command that is lost, or whose end could not be stored. */
export const UNKNOWN_END: StreamEnd = { exitCode: null, signal: null, note: 'The exit code of the command is unknown.' }

/** Returns a stream that drops what is written. */
export function nullWritable(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() })
}

/** A command or session that can be hung up. */
export interface HangUpTarget {
  signal(name: NodeJS.Signals): Promise<void>
  /** Settles once it has ended. */
  ended: Promise<unknown>
}

/** Sends SIGHUP, as a closed terminal does, and SIGKILL if it has not ended within 2 s. Nothing if it has ended already. */
export async function hangUp(target: HangUpTarget, clock: Clock): Promise<void> {
  const isOver = target.ended.then(
    () => true,
    () => true,
  )
  // Processes that an ended command left running continue.
  if (await Promise.race([isOver, Promise.resolve(false)])) return
  await target.signal('SIGHUP')
  if (await Promise.race([isOver, clock.sleep(HANG_UP_MS).then(() => false)])) return
  await target.signal('SIGKILL')
}

async function streamRunning(deps: StreamStartDeps, start: ExecStart, query: ExecStreamQuery): Promise<CommandStream> {
  const copied: OutputStream[] = []
  if (query.stdout) copied.push('stdout')
  if (query.stderr && !query.tty) copied.push('stderr')
  // Without input a pipe is closed at once. On a terminal end of file would be a key press, so it stays open.
  const stdin = query.stdin || query.tty ? null : Buffer.alloc(0)
  const { live, running } = await startRunning(deps, start, { stdin, copied })
  deps.onStarted(live)
  const stdout = live.copies.stdout ?? empty()
  const stderr = live.copies.stderr ?? empty()
  const disconnect = (): void => {
    for (const copy of [stdout, stderr]) copy.destroy()
    running.stdin.destroy()
    // Fails only if its cgroup is gone, and then there is nothing to signal.
    hangUp(live, deps.clock).catch(() => undefined)
  }
  return {
    id: live.id,
    stdin: query.stdin ? running.stdin : nullWritable(),
    stdout,
    stderr,
    terminal: running.terminal,
    comesByTurns: true,
    outlivesClient: false,
    ended: endOf(live),
    disconnect,
  }
}

async function streamDetached(deps: StreamStartDeps, start: ExecStart, query: ExecStreamQuery): Promise<CommandStream> {
  const { live, detached } = await startDetached(deps, start, {
    stdin: Buffer.alloc(0),
    keepsInput: query.stdin || query.tty,
  })
  deps.onStarted(live)
  const attached = await detached.attach('all').catch(async (error: unknown) => {
    // The client never learned its id.
    await live.signal('SIGKILL').catch(() => undefined)
    throw error
  })
  const select = (stream: Readable, isWanted: boolean): Readable => {
    if (isWanted) return stream
    stream.resume()
    return empty()
  }
  return {
    id: live.id,
    stdin: query.stdin ? attached.stdin : nullWritable(),
    stdout: select(attached.stdout, query.stdout),
    stderr: select(attached.stderr, query.stderr),
    terminal: attached.terminal,
    comesByTurns: false,
    outlivesClient: true,
    ended: endOf(live),
    disconnect: () => void detach(attached, { endsInput: query.stdin && !query.tty, clock: deps.clock }),
  }
}

function endOf(live: LiveExec): Promise<StreamEnd> {
  return live.ended.then(streamEndOf, () => UNKNOWN_END)
}

// Closes the command's input first if it has no terminal. Waits at most 2 s for a command that does not read.
async function detach(attached: AttachedExec, options: { endsInput: boolean; clock: Clock }): Promise<void> {
  if (options.endsInput) {
    const isClosed = new Promise<void>((resolve) => attached.stdin.end(resolve).once('close', resolve))
    await Promise.race([isClosed, options.clock.sleep(CLOSE_INPUT_MS)])
  }
  attached.close()
}

function empty(): Readable {
  return Readable.from([])
}

function variablesOf(list: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    list.map((one) => [one.slice(0, one.indexOf('=')), one.slice(one.indexOf('=') + 1)] as const),
  )
}

const NOTES: Partial<Record<ExecRecord['status'], string>> = {
  timed_out: 'The command was killed, because it took longer than timeout_seconds.',
  out_of_memory: 'The command was killed, because the memory of the box was full.',
  lost: 'The exit code of the command is unknown.',
}
const REASONS: Record<ExecReason, string> = {
  process_limit_reached: 'The command did not start, because the box is at its process limit.',
}
const CLOSE_INPUT_MS = 2_000
const HANG_UP_MS = 2_000
