import { ServiceError } from '../../shared/errors.ts'
import { newId } from '../../shared/ids.ts'
import type { ExecBody } from '../../shared/schemas/exec.ts'
import type { RunningExec, Runtime } from '../ports/runtime.ts'
import type { BoxRecord, ExecRecord } from '../ports/store.ts'
import { checkEnvironment } from './environment.ts'
import { createExecTable } from './exec-table.ts'
import { type ExecState, type LiveExec, type LiveExecDeps, startExec } from './live-exec.ts'

export interface ExecsDeps extends LiveExecDeps {
  runtime: Runtime
  limits: LiveExecDeps['limits'] & { execsAtOnce: number; lingeringExecs: number }
}

export interface RunOptions {
  waitMs: number
  /** Called once the command is recorded as running, before it is waited for. */
  onRecorded(id: string): Promise<void>
}

/** The commands of the API. */
export interface Execs {
  /**
   * Starts a command and waits for its end, at most `waitMs` (ms); it goes on if nobody waits.
   * @throws ServiceError `box_not_running`, `environment_reserved`, `invalid_request` (no such user)
   */
  run(box: BoxRecord, body: ExecBody, how: RunOptions): Promise<ExecState>
  /** @throws ServiceError `exec_not_found` */
  get(box: BoxRecord, id: string, waitMs: number): Promise<ExecState>
  /** Ends every command this process holds, and resolves when their records say so, or after `graceMs`. */
  close(graceMs: number): Promise<void>
}

/** Commands by id while they run; their records outlive them in the store. */
export function createExecs(deps: ExecsDeps): Execs {
  const { store, clock, limits } = deps
  const table = createExecTable({ lingering: limits.lingeringExecs, logger: deps.logger })
  let starting = 0

  const waitFor = async (exec: LiveExec, waitMs: number): Promise<ExecState> => {
    const timer = new AbortController()
    const ended = await Promise.race([exec.ended, clock.sleep(waitMs, timer.signal)]).finally(() => timer.abort())
    return ended ?? exec.state()
  }
  return {
    run: async (box, body, { waitMs, onRecorded }) => {
      checkEnvironment(body.env ?? {})
      if (box.observed.status !== 'running') throw notRunning(box)
      if (table.count() + starting >= limits.execsAtOnce) throw tooMany(limits.execsAtOnce)
      starting += 1
      const exec = await launch(deps, box, body).finally(() => {
        starting -= 1
      })
      table.add(exec.id, exec)
      await onRecorded(exec.id)
      return waitFor(exec, waitMs)
    },
    get: async (box, id, waitMs) => {
      const exec = table.get(id)
      if (exec?.state().record.boxId === box.id) return waitFor(exec, waitMs)
      const stored = await store.execs.get(box.id, id)
      if (!stored) throw new ServiceError('exec_not_found', `No exec "${id}" in box "${box.name}".`)
      return stored
    },
    close: (graceMs) => Promise.race([table.close(), clock.sleep(graceMs)]),
  }
}

async function launch(deps: ExecsDeps, box: BoxRecord, body: ExecBody): Promise<LiveExec> {
  const { store, runtime } = deps
  const stdin = stdinOf(body)
  const record = newRecord(box, body, deps.clock.now())
  const running = await runtime.exec(box.id, {
    command: record.command,
    cwd: body.cwd ?? null,
    environment: { ...DEFAULT_ENVIRONMENT, ...ownEnvironment(box), ...body.env },
    user: body.user ?? null,
  })
  const stored = { ...record, cwd: running.cwd }
  try {
    await store.execs.insert(stored)
  } catch (error) {
    await abandon(running)
    throw error
  }
  const exec = startExec({ record: stored, running, stdin, deps })
  if (body.timeout_seconds !== undefined) exec.killAfter(body.timeout_seconds * 1000)
  return exec
}

function newRecord(box: BoxRecord, body: ExecBody, now: number): ExecRecord {
  return {
    id: newId('exe', now),
    boxId: box.id,
    project: box.project,
    box: box.name,
    command: body.command ?? ['/bin/sh', '-c', body.shell ?? ''],
    status: 'running',
    exitCode: null,
    signal: null,
    startedAt: now,
    endedAt: null,
    user: body.user ?? 'root',
    cwd: body.cwd ?? '',
    process: null,
    stdoutBytes: 0,
    stderrBytes: 0,
  }
}

function ownEnvironment(box: BoxRecord): Record<string, string> {
  return { BOX_ID: box.id, BOX_NAME: box.name, BOX_PROJECT: box.project, ...box.environment }
}

function stdinOf(body: ExecBody): Buffer {
  const text = body.stdin ?? ''
  if (body.encoding !== 'base64') return Buffer.from(text, 'utf8')
  if (BASE64.test(text)) return Buffer.from(text, 'base64')
  const fault = { pointer: '/stdin', detail: 'must be base64, as encoding says' }
  throw new ServiceError('invalid_request', `${fault.pointer}: ${fault.detail}.`, { errors: [fault] })
}

// Nothing is known of it: what runs is ended, and nobody waits for it.
async function abandon(running: RunningExec): Promise<void> {
  for (const stream of [running.stdin, running.stdout, running.stderr]) stream.on('error', () => undefined).destroy()
  await running.signal('SIGKILL').catch(() => undefined)
}

function tooMany(most: number): ServiceError {
  const detail = `${most} commands run at once, the most this agent takes.`
  return new ServiceError('rate_limited', detail, { headers: { 'Retry-After': '1' } })
}

function notRunning(box: BoxRecord): ServiceError {
  const detail = `The box "${box.name}" is ${box.observed.status} (${box.observed.reason}); resume it first.`
  return new ServiceError('box_not_running', detail)
}

const DEFAULT_ENVIRONMENT = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' }
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/
