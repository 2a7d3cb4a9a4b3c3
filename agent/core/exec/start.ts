import { newId } from '../../../shared/ids.ts'
import type { ExecBody } from '../../../shared/schemas/exec.ts'
import { invalidRequest } from '../../../shared/validate.ts'
import type { DetachedExec, ExecRequest, RunningExec, Runtime, TerminalSize } from '../../ports/boxes/runtime.ts'
import type { OutputStream } from '../../ports/exec/outputs.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { ActorContext } from '../../ports/store/events.ts'
import type { ExecRecord } from '../../ports/store/exec.ts'
import { boxAccounts } from '../common/accounts.ts'
import { commandEnvironment } from '../common/environment.ts'
import {
  discardDetached,
  followDetached,
  followRunning,
  type LiveExec,
  type LiveExecDeps,
  type RunningLiveExec,
} from './live-exec.ts'

export interface ExecStartDeps extends LiveExecDeps {
  /** Carries the actor of a request, whose accounts its commands count against. */
  actorContext: Pick<ActorContext, 'current'>
  runtime: Runtime
}

/** The options of a command, from HTTP or a WebSocket. Null and undefined mean the defaults of the box or its user. */
export interface ExecOptions {
  /** Id of its record. Null for a new one. */
  id?: string | null
  command: readonly string[]
  cwd?: string | undefined
  env?: Record<string, string> | undefined
  user?: string | undefined
  terminal: TerminalSize | null
  /** True if it keeps running without this process. */
  detached: boolean
  timeoutSeconds?: number | undefined
}

/** A command to start, and the record to store for it. */
export interface ExecStart {
  record: ExecRecord
  request: ExecRequest
  timeoutMs: number | null
}

/** Prepares a start in `box`, on behalf of the actor of now. */
export function newStart({ clock, actorContext }: ExecStartDeps, box: BoxRecord, options: ExecOptions): ExecStart {
  const record = newRecord(box, options, clock.now())
  const request: ExecRequest = {
    command: record.command,
    cwd: options.cwd ?? null,
    environment: commandEnvironment(box, options.env),
    user: options.user ?? null,
    dumpsCore: box.config.core_dumps,
    accounts: boxAccounts(box, actorContext.current()),
    ...(options.terminal === null ? {} : { terminal: options.terminal }),
  }
  return { record, request, timeoutMs: options.timeoutSeconds === undefined ? null : options.timeoutSeconds * 1000 }
}

/** Returns the command that runs a line of shell. Pure. */
export function shellCommand(line: string): string[] {
  return ['/bin/sh', '-c', line]
}

/** Starts a command in a running box and records it. With `no_hup` a detached one. */
export async function launchExec(deps: ExecStartDeps, box: BoxRecord, body: ExecBody): Promise<LiveExec> {
  const stdin = stdinOf(body)
  const options: ExecOptions = {
    command: body.command ?? shellCommand(body.shell ?? ''),
    cwd: body.cwd,
    env: body.env,
    user: body.user,
    terminal: body.tty === true ? DEFAULT_SIZE : null,
    detached: body.no_hup === true,
    timeoutSeconds: body.timeout_seconds,
  }
  const start = newStart(deps, box, options)
  if (options.detached) return (await startDetached(deps, start, { stdin, keepsInput: false })).live
  return (await startRunning(deps, start, { stdin, copied: [] })).live
}

/** Starts a command of this process. With `stdin` null the caller writes it. Also returns copies of the `copied` streams. */
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

/** Starts a detached command, which does not end with this process. */
export async function startDetached(
  deps: ExecStartDeps,
  { record, request, timeoutMs }: ExecStart,
  input: { stdin: Buffer; keepsInput: boolean },
): Promise<{ live: LiveExec; detached: DetachedExec }> {
  const { id, boxId } = record
  const { detached, cwd } = await deps.runtime.execDetached(boxId, id, { ...request, ...input, timeoutMs })
  const stored = { ...record, cwd, process: detached.process }
  try {
    await deps.store.execs.insert(stored)
  } catch (error) {
    void discardDetached(detached, deps)
    throw error
  }
  return { live: followDetached({ record: stored, detached, deps }), detached }
}

function newRecord(box: BoxRecord, options: ExecOptions, now: number): ExecRecord {
  return {
    id: options.id ?? newId('exe', now),
    boxId: box.id,
    project: box.project,
    box: box.name,
    command: [...options.command],
    status: 'running',
    exitCode: null,
    signal: null,
    startedAt: now,
    endedAt: null,
    tty: options.terminal !== null,
    user: options.user ?? 'root',
    cwd: options.cwd ?? '',
    detached: options.detached,
    process: null,
    stdoutBytes: 0,
    stderrBytes: 0,
  }
}

function stdinOf(body: ExecBody): Buffer {
  const text = body.stdin ?? ''
  if (body.encoding !== 'base64') return Buffer.from(text, 'utf8')
  if (BASE64.test(text)) return Buffer.from(text, 'base64')
  throw invalidRequest([{ pointer: '/stdin', detail: 'must be base64, because `encoding` is base64' }])
}

// Kills a command that could not be recorded, without waiting for its end.
async function abandon(running: RunningExec): Promise<void> {
  for (const stream of [running.stdin, running.stdout, running.stderr]) stream.on('error', () => undefined).destroy()
  await running.signal('SIGKILL').catch(() => undefined)
}

/** The size of a terminal if the request has none. */
const DEFAULT_SIZE: TerminalSize = { cols: 80, rows: 24 }
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/
