import { newId } from '../../shared/ids.ts'
import type { ExecBody } from '../../shared/schemas/exec.ts'
import { invalidRequest } from '../../shared/validate.ts'
import type { ExecRequest, RunningExec, Runtime } from '../ports/runtime.ts'
import type { BoxRecord, ExecRecord } from '../ports/store.ts'
import { environmentOf } from './environment.ts'
import { discardHeld, followHeld } from './held-exec.ts'
import { followRunning, type LiveExec, type LiveExecDeps } from './live-exec.ts'

export interface ExecStartDeps extends LiveExecDeps {
  runtime: Runtime
}

/** Starts a command in a running box and records it: one of this process, or with `no_hup` one that is held. */
export function launchExec(deps: ExecStartDeps, box: BoxRecord, body: ExecBody): Promise<LiveExec> {
  const record = newRecord(box, body, deps.clock.now())
  const request: ExecRequest = {
    command: record.command,
    cwd: body.cwd ?? null,
    environment: { ...DEFAULT_ENVIRONMENT, ...environmentOf(box), ...body.env },
    user: body.user ?? null,
  }
  const timeoutMs = body.timeout_seconds === undefined ? null : body.timeout_seconds * 1000
  const start: Start = { record, request, stdin: stdinOf(body), timeoutMs }
  return record.detached ? launchHeld(deps, start) : launchRunning(deps, start)
}

interface Start {
  record: ExecRecord
  request: ExecRequest
  stdin: Buffer
  timeoutMs: number | null
}

async function launchRunning(deps: ExecStartDeps, { record, request, stdin, timeoutMs }: Start): Promise<LiveExec> {
  const running = await deps.runtime.exec(record.boxId, request)
  const stored = { ...record, cwd: running.cwd }
  try {
    await deps.store.execs.insert(stored)
  } catch (error) {
    await abandon(running)
    throw error
  }
  return followRunning({ record: stored, running, stdin, timeoutMs, deps })
}

async function launchHeld(deps: ExecStartDeps, { record, request, stdin, timeoutMs }: Start): Promise<LiveExec> {
  const { id, boxId } = record
  const { held, cwd } = await deps.runtime.hold(boxId, id, { ...request, stdin, timeoutMs })
  const stored = { ...record, cwd, process: held.process }
  try {
    await deps.store.execs.insert(stored)
  } catch (error) {
    void discardHeld(held, deps)
    throw error
  }
  return followHeld({ record: stored, held, deps })
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
    detached: body.no_hup === true,
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

const DEFAULT_ENVIRONMENT = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' }
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/
