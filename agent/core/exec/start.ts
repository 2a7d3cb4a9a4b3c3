import { newId } from '../../../shared/ids.ts'
import type { ExecBody } from '../../../shared/schemas/exec.ts'
import { invalidRequest } from '../../../shared/validate.ts'
import type { DetachedExec, ExecRequest, RunningExec, Runtime, TerminalSize } from '../../ports/boxes/runtime.ts'
import type { OutputStream } from '../../ports/exec/outputs.ts'
import type { ExecRecord } from '../../ports/store/exec.ts'
import type { BoxRecord } from '../../ports/store/store.ts'
import { commandEnvironment } from '../common/environment.ts'
import { discardDetached, followDetached } from './detached-exec.ts'
import { followRunning, type LiveExec, type LiveExecDeps, type RunningLiveExec } from './live-exec.ts'

export interface ExecStartDeps extends LiveExecDeps {
  runtime: Runtime
}

/** A command as it is asked for, over HTTP or a WebSocket; null and undefined are what the box or its user have. */
export interface ExecOptions {
  command: readonly string[]
  cwd?: string | undefined
  env?: Record<string, string> | undefined
  user?: string | undefined
  terminal: TerminalSize | null
  /** Whether it goes on without this process. */
  detached: boolean
  timeoutSeconds?: number | undefined
}

/** A command to start, with the record it is to have. */
export interface ExecStart {
  record: ExecRecord
  request: ExecRequest
  timeoutMs: number | null
}

/** What to start in `box`. A pure function of its input and `now`, but for the id. */
export function newStart(box: BoxRecord, wish: ExecOptions, now: number): ExecStart {
  const record = newRecord(box, wish, now)
  const request: ExecRequest = {
    command: record.command,
    cwd: wish.cwd ?? null,
    environment: commandEnvironment(box, wish.env),
    user: wish.user ?? null,
    ...(wish.terminal === null ? {} : { terminal: wish.terminal }),
  }
  return { record, request, timeoutMs: wish.timeoutSeconds === undefined ? null : wish.timeoutSeconds * 1000 }
}

/** Starts a command in a running box and records it: one of this process, or with `no_hup` one that is held. */
export async function launchExec(deps: ExecStartDeps, box: BoxRecord, body: ExecBody): Promise<LiveExec> {
  const stdin = stdinOf(body)
  const wish: ExecOptions = {
    command: body.command ?? ['/bin/sh', '-c', body.shell ?? ''],
    cwd: body.cwd,
    env: body.env,
    user: body.user,
    terminal: body.tty === true ? DEFAULT_SIZE : null,
    detached: body.no_hup === true,
    timeoutSeconds: body.timeout_seconds,
  }
  const start = newStart(box, wish, deps.clock.now())
  if (wish.detached) return (await startDetached(deps, start, { stdin, keepsInput: false })).live
  return (await startRunning(deps, start, { stdin, copied: [] })).live
}

/** Starts a command of this process; `stdin` null is left to the caller, and `copied` streams are given again. */
export async function startRunning(
  deps: ExecStartDeps,
  { record, request, timeoutMs }: ExecStart,
  streams: { stdin: Buffer | null; copied: readonly OutputStream[] },
): Promise<{ live: RunningLiveExec; running: RunningExec }> {
  const running = await deps.runtime.exec(record.boxId, request)
  const stored = { ...record, cwd: running.cwd }
  try {
    await deps.store.execs.insert(stored)
  } catch (error) {
    await abandon(running)
    throw error
  }
  return { live: followRunning({ record: stored, running, ...streams, timeoutMs, deps }), running }
}

/** Starts a command that does not end with this process. */
export async function startDetached(
  deps: ExecStartDeps,
  { record, request, timeoutMs }: ExecStart,
  input: { stdin: Buffer; keepsInput: boolean },
): Promise<{ live: LiveExec; held: DetachedExec }> {
  const { id, boxId } = record
  const { held, cwd } = await deps.runtime.hold(boxId, id, { ...request, ...input, timeoutMs })
  const stored = { ...record, cwd, process: held.process }
  try {
    await deps.store.execs.insert(stored)
  } catch (error) {
    void discardDetached(held, deps)
    throw error
  }
  return { live: followDetached({ record: stored, held, deps }), held }
}

function newRecord(box: BoxRecord, wish: ExecOptions, now: number): ExecRecord {
  return {
    id: newId('exe', now),
    boxId: box.id,
    project: box.project,
    box: box.name,
    command: [...wish.command],
    status: 'running',
    exitCode: null,
    signal: null,
    startedAt: now,
    endedAt: null,
    tty: wish.terminal !== null,
    user: wish.user ?? 'root',
    cwd: wish.cwd ?? '',
    detached: wish.detached,
    process: null,
    stdoutBytes: 0,
    stderrBytes: 0,
  }
}

function stdinOf(body: ExecBody): Buffer {
  const text = body.stdin ?? ''
  if (body.encoding !== 'base64') return Buffer.from(text, 'utf8')
  if (BASE64.test(text)) return Buffer.from(text, 'base64')
  throw invalidRequest([{ pointer: '/stdin', detail: 'must be base64, as encoding says' }])
}

// Nothing is known of it: what runs is ended, and nobody waits for it.
async function abandon(running: RunningExec): Promise<void> {
  for (const stream of [running.stdin, running.stdout, running.stderr]) stream.on('error', () => undefined).destroy()
  await running.signal('SIGKILL').catch(() => undefined)
}

/** Of a terminal whose size nobody said. */
const DEFAULT_SIZE: TerminalSize = { cols: 80, rows: 24 }
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/
