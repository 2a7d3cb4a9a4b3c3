import { ServiceError } from '../../shared/errors.ts'
import type { ExecBody, ExecListQuery, ExecOutputQuery } from '../../shared/schemas/exec.ts'
import type { BoxRecord, ExecRecord } from '../ports/store.ts'
import { checkEnvironment } from './environment.ts'
import {
  type ExecPiece,
  endedExec,
  type OutputTails,
  type OutputWish,
  type ReadableExec,
  readTails,
  readWaiting,
} from './exec-reads.ts'
import { type ExecStartDeps, launchExec } from './exec-start.ts'
import { createExecTable } from './exec-table.ts'
import { discardHeld, followHeld, recordLost } from './held-exec.ts'
import type { LiveExec } from './live-exec.ts'
import { decodeCursor, encodeCursor } from './paging.ts'

export interface ExecsDeps extends ExecStartDeps {
  limits: ExecStartDeps['limits'] & { execOutputBytes: number; execsAtOnce: number; lingeringExecs: number }
}

export interface RunOptions {
  waitMs: number
  /** Called once the command is recorded as running, before it is waited for. */
  onRecorded(id: string): Promise<void>
}

/** A command as far as it has come, with the last of its output. */
export interface ExecState {
  record: ExecRecord
  output: OutputTails
}

/** The commands of the API. All but `recover` and `close` throw `exec_not_found` for a command the box does not have. */
export interface Execs {
  /** Takes up, before anything else is asked, what commands of processes before this one have come to. */
  recover(): Promise<void>
  /**
   * Starts a command and waits for its end, at most `waitMs` (ms); it goes on if nobody waits.
   * @throws ServiceError `box_not_running`, `environment_reserved`, `invalid_request` (no such user)
   */
  run(box: BoxRecord, body: ExecBody, how: RunOptions): Promise<ExecState>
  get(box: BoxRecord, id: string, waitMs: number): Promise<ExecState>
  /** Oldest first; `next` is the token of the next page. */
  list(box: BoxRecord, query: ExecListQuery): Promise<{ records: ExecRecord[]; next: string | null }>
  /** @throws ServiceError `range_not_satisfiable` */
  output(box: BoxRecord, id: string, query: ExecOutputQuery): Promise<ExecPiece>
  /** Signals all that a command started; one that has ended is left as it is. */
  signal(box: BoxRecord, id: string, name: NodeJS.Signals): Promise<ExecRecord>
  /** Ends the commands of this process, and resolves when their records say so, or after `graceMs`. Held ones go on. */
  close(graceMs: number): Promise<void>
}

/** Commands by id while they run; their records outlive them in the store. */
export function createExecs(deps: ExecsDeps): Execs {
  const { clock, limits } = deps
  const table = createExecTable({ lingering: limits.lingeringExecs, logger: deps.logger })
  let starting = 0

  const find = async (box: BoxRecord, id: string): Promise<ReadableExec> => {
    const live = table.get(box.id, id)
    if (live) return readable(live)
    return stored(deps, box, id)
  }
  const stateAfter = async (live: LiveExec, waitMs: number): Promise<ExecState> => {
    const timer = new AbortController()
    await Promise.race([live.ended, clock.sleep(waitMs, timer.signal)]).finally(() => timer.abort())
    return stateOf(readable(live), limits.execOutputBytes)
  }
  return {
    recover: () => recover(deps, (live) => table.add(live)),
    run: async (box, body, { waitMs, onRecorded }) => {
      checkEnvironment(body.env ?? {})
      if (box.observed.status !== 'running') throw notRunning(box)
      if (table.count() + starting >= limits.execsAtOnce) throw tooMany(limits.execsAtOnce)
      starting += 1
      const live = await launchExec(deps, box, body).finally(() => {
        starting -= 1
      })
      table.add(live)
      await onRecorded(live.id)
      return stateAfter(live, waitMs)
    },
    get: async (box, id, waitMs) => {
      const live = table.get(box.id, id)
      if (live) return stateAfter(live, waitMs)
      return stateOf(await stored(deps, box, id), limits.execOutputBytes)
    },
    list: async (box, query) => {
      const [after = null] = decodeCursor(query.continuation_token, 1) ?? []
      const wish = { boxId: box.id, status: query.status ?? null, after, limit: query.max_results }
      const { records, hasMore } = await deps.store.execs.list(wish)
      const last = records.at(-1)
      const next = hasMore && last !== undefined ? encodeCursor([last.id]) : null
      const now = records.map((record) => table.get(box.id, record.id)?.record() ?? record)
      return { records: now.filter(({ status }) => query.status === undefined || status === query.status), next }
    },
    output: (box, id, query) => readWaiting(() => find(box, id), outputWish(query), clock),
    signal: async (box, id, name) => {
      const live = table.get(box.id, id)
      if (!live) return (await stored(deps, box, id)).record
      await live.signal(name)
      return live.record()
    },
    close: (graceMs) => Promise.race([table.close(), clock.sleep(graceMs)]),
  }
}

// What is held is taken up; what a process before this one had of its own ended with it, without a word.
async function recover(deps: ExecsDeps, add: (live: LiveExec) => void): Promise<void> {
  const { store, outputs, runtime, clock, logger } = deps
  const held = new Map((await runtime.held()).map((each) => [each.execId, each]))
  const lost: ExecRecord[] = []
  for (const record of await store.execs.running()) {
    const each = held.get(record.id)
    held.delete(record.id)
    if (each) add(followHeld({ record, held: each, deps }))
    else lost.push(record)
  }
  if (lost.length > 0) logger.warn('commands of the last process are lost', { execs: lost.length })
  for (const record of lost) if (record.detached) await recordLost(record, deps)
  const others = lost.filter(({ detached }) => !detached)
  await store.execs.lose(
    others.map(({ id }) => id),
    clock.now(),
  )
  const known = await store.execs.withFiles()
  await outputs.sweep([...known, ...held.values()])
  const recorded = new Set(known.map(({ execId }) => execId))
  // Their ends were recorded, or their starts never were.
  for (const each of held.values()) void (recorded.has(each.execId) ? each.forget() : discardHeld(each, deps))
}

async function stored(deps: ExecsDeps, box: BoxRecord, id: string): Promise<ReadableExec> {
  const found = await deps.store.execs.get(box.id, id)
  if (!found) throw new ServiceError('exec_not_found', `No exec "${id}" in box "${box.name}".`)
  return endedExec(deps.outputs, found)
}

function readable(live: LiveExec): ReadableExec {
  return { record: live.record(), read: live.read, onChange: live.onChange }
}

function outputWish({ stream, offset, max_bytes: maxBytes, encoding, wait_seconds }: ExecOutputQuery): OutputWish {
  return { stream, offset, maxBytes, isText: encoding === 'utf-8', waitMs: wait_seconds * 1000 }
}

function stateOf(exec: ReadableExec, maxBytes: number): ExecState {
  return { record: exec.record, output: readTails(exec, maxBytes) }
}

function tooMany(most: number): ServiceError {
  const detail = `${most} commands run at once, the most this agent takes.`
  return new ServiceError('rate_limited', detail, { headers: { 'Retry-After': '1' } })
}

function notRunning(box: BoxRecord): ServiceError {
  const detail = `The box "${box.name}" is ${box.observed.status} (${box.observed.reason}); resume it first.`
  return new ServiceError('box_not_running', detail)
}
