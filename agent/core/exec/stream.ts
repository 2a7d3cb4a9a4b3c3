import { Readable, Writable } from 'node:stream'
import type { ExecStreamQuery } from '../../../shared/schemas/streams.ts'
import type { AttachedExec } from '../../ports/boxes/runtime.ts'
import type { OutputStream } from '../../ports/exec/outputs.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { ExecRecord } from '../../ports/store/exec.ts'
import type { BoxRecord } from '../../ports/store/store.ts'
import { checkEnvironment } from '../common/environment.ts'
import type { CommandStream, StreamEnd } from './command-stream.ts'
import { hangUp } from './hang-up.ts'
import type { LiveExec } from './live-exec.ts'
import { type ExecOptions, type ExecStart, type ExecStartDeps, newStart, startDetached, startRunning } from './start.ts'

/** What a stream is started with: `onStarted` is told of the command as soon as it runs, whatever becomes of the stream. */
export interface StreamStartDeps extends ExecStartDeps {
  onStarted(live: LiveExec): void
}

/** Starts a command for a WebSocket; with `no_hup` one that is held and goes on without the client. */
export function launchStream(deps: StreamStartDeps, box: BoxRecord, query: ExecStreamQuery): Promise<CommandStream> {
  const { cols, rows, cwd, user, command } = query
  const env = variablesOf(query.env)
  checkEnvironment(env)
  const wish: ExecOptions = {
    command,
    cwd,
    env,
    user,
    terminal: query.tty ? { cols, rows } : null,
    detached: query.no_hup,
    timeoutSeconds: query.timeout_seconds,
  }
  const start = newStart(box, wish, deps.clock.now())
  return query.no_hup ? streamHeld(deps, start, query) : streamRunning(deps, start, query)
}

/** How a command ended, for whoever streams it. A pure function. */
export function streamEndOf({ exitCode, signal, status }: ExecRecord): StreamEnd {
  return { exitCode, signal, note: NOTES[status] ?? null }
}

/** An end that nobody knows, or that could not be written down. */
export const UNKNOWN_END: StreamEnd = { exitCode: null, signal: null, note: 'How the command ended is not known.' }

/** Takes what is written, and drops it. */
export function discarding(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() })
}

async function streamRunning(deps: StreamStartDeps, start: ExecStart, query: ExecStreamQuery): Promise<CommandStream> {
  const copied: OutputStream[] = []
  if (query.stdout) copied.push('stdout')
  if (query.stderr && !query.tty) copied.push('stderr')
  // Without input a command reads the end of it at once; to a terminal that would be a key pressed.
  const stdin = query.stdin || query.tty ? null : Buffer.alloc(0)
  const { live, running } = await startRunning(deps, start, { stdin, copied })
  deps.onStarted(live)
  const stdout = live.copies.stdout ?? empty()
  const stderr = live.copies.stderr ?? empty()
  const leave = (): void => {
    for (const copy of [stdout, stderr]) copy.destroy()
    running.stdin.destroy()
    // Where its cgroup is gone, so is all that could be signalled.
    hangUp(live, deps.clock).catch(() => undefined)
  }
  return {
    id: live.id,
    stdin: query.stdin ? running.stdin : discarding(),
    stdout,
    stderr,
    terminal: running.terminal,
    goesOn: false,
    ended: endOf(live),
    leave,
  }
}

async function streamHeld(deps: StreamStartDeps, start: ExecStart, query: ExecStreamQuery): Promise<CommandStream> {
  const { live, held } = await startDetached(deps, start, {
    stdin: Buffer.alloc(0),
    keepsInput: query.stdin || query.tty,
  })
  deps.onStarted(live)
  const attached = await held.attach('all').catch(async (error: unknown) => {
    // Nobody was told of it.
    await live.signal('SIGKILL').catch(() => undefined)
    throw error
  })
  const wanted = (stream: Readable, isWanted: boolean): Readable => {
    if (isWanted) return stream
    stream.resume()
    return empty()
  }
  return {
    id: live.id,
    stdin: query.stdin ? attached.stdin : discarding(),
    stdout: wanted(attached.stdout, query.stdout),
    stderr: wanted(attached.stderr, query.stderr),
    terminal: attached.terminal,
    goesOn: true,
    ended: endOf(live),
    leave: () => void letGo(attached, { endsInput: query.stdin && !query.tty, clock: deps.clock }),
  }
}

function endOf(live: LiveExec): Promise<StreamEnd> {
  return live.ended.then(streamEndOf, () => UNKNOWN_END)
}

// Nobody can type any more: what reads is told so, if it has no terminal. What does not read need not be.
async function letGo(attached: AttachedExec, how: { endsInput: boolean; clock: Clock }): Promise<void> {
  if (how.endsInput) {
    const isTold = new Promise<void>((resolve) => attached.stdin.end(resolve).once('close', resolve))
    await Promise.race([isTold, how.clock.sleep(TELL_MS)])
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
  timed_out: 'The command took longer than timeout_seconds, and was killed.',
  out_of_memory: "The command was killed: the box's memory was full.",
  lost: 'How the command ended is not known.',
}
const TELL_MS = 2_000
