import { ServiceError } from '../../../shared/errors.ts'
import { createFairShares } from '../../../shared/fair-shares.ts'
import type { ExecBody, ExecListQuery, ExecOutputQuery } from '../../../shared/schemas/exec.ts'
import type { ExecStreamQuery } from '../../../shared/schemas/streams.ts'
import type { OutputPlace } from '../../ports/exec/outputs.ts'
import type { Meter } from '../../ports/host/meter.ts'
import type { ExecRecord } from '../../ports/store/exec.ts'
import type { BoxRecord } from '../../ports/store/store.ts'
import type { BoxActivity } from '../boxes/activity.ts'
import { withTimer } from '../common/deadline.ts'
import { checkEnvironment } from '../common/environment.ts'
import { decodeCursor, encodeCursor } from '../common/paging.ts'
import type { CommandStream } from './command-stream.ts'
import { discardDetached, followDetached, recordLost } from './detached-exec.ts'
import type { LiveExec } from './live-exec.ts'
import {
  type ExecPiece,
  endedExec,
  type OutputOptions,
  type OutputTails,
  type ReadableExec,
  readTails,
  readWaiting,
} from './reads.ts'
import { type ExecStartDeps, launchExec } from './start.ts'
import { launchStream } from './stream.ts'
import { createExecTable } from './table.ts'

export interface ExecsDeps extends ExecStartDeps {
  activity: BoxActivity
  meter: Meter
  limits: ExecStartDeps['limits'] & { execOutputBytes: number; execsAtOnce: number; lingeringExecs: number }
}

export interface ExecRunOptions {
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
  /**
   * Takes up, before anything else is asked, what commands of processes before this one have come to. Those of `others` are
   * held for somebody else, and kept.
   */
  recover(others: readonly OutputPlace[]): Promise<void>
  /**
   * Starts a command and waits for its end, at most `waitMs` (ms); it goes on if nobody waits.
   * @throws ServiceError `box_not_running`, `environment_reserved`, `invalid_request` (no such user)
   */
  run(box: BoxRecord, body: ExecBody, how: ExecRunOptions): Promise<ExecState>
  /** Starts a command for a client who streams it. Throws as `run`, or `runtime_unavailable`. */
  stream(box: BoxRecord, query: ExecStreamQuery): Promise<CommandStream>
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
  const { clock, limits, meter, activity } = deps
  const countStart = meter.counter(STARTED)
  const running = createFairShares(limits.execsAtOnce)
  const table = createExecTable({ lingering: limits.lingeringExecs, running, activity, meter, logger: deps.logger })

  const find = async (box: BoxRecord, id: string): Promise<ReadableExec> => {
    const live = table.get(box.id, id)
    if (live) return readable(live)
    return stored(deps, box, id)
  }
  const stateAfter = async (live: LiveExec, waitMs: number): Promise<ExecState> => {
    await withTimer({ clock, ms: waitMs }, (over) => Promise.race([live.ended, over]))
    return stateOf(readable(live), limits.execOutputBytes)
  }
  const begin = async <T>(box: BoxRecord, start: () => Promise<T>): Promise<T> => {
    checkRunning(box)
    const leave = running.take(box.id)
    if (leave === null) throw tooMany(limits.execsAtOnce)
    const endUse = activity.begin(box.id)
    return start()
      .then((started) => {
        countStart({})
        return started
      })
      .finally(() => {
        leave()
        endUse()
      })
  }
  return {
    recover: (others) => recover(deps, others, (live) => table.add(live)),
    run: async (box, body, { waitMs, onRecorded }) => {
      checkEnvironment(body.env ?? {})
      const live = await begin(box, () => launchExec(deps, box, body))
      table.add(live)
      await onRecorded(live.id)
      return stateAfter(live, waitMs)
    },
    stream: async (box, query) => {
      const onStarted = (live: LiveExec): void => table.add(live)
      return begin(box, () => launchStream({ ...deps, onStarted }, box, query))
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
async function recover(deps: ExecsDeps, others: readonly OutputPlace[], add: (live: LiveExec) => void): Promise<void> {
  const { store, outputs, runtime, clock, logger } = deps
  const held = new Map((await runtime.held()).map((each) => [each.execId, each]))
  for (const { execId } of others) held.delete(execId)
  const lost: ExecRecord[] = []
  for (const record of await store.execs.running()) {
    const each = held.get(record.id)
    held.delete(record.id)
    if (each) add(followDetached({ record, held: each, deps }))
    else lost.push(record)
  }
  if (lost.length > 0) logger.warn('commands of the last process are lost', { execs: lost.length })
  for (const record of lost) if (record.detached) await recordLost(record, deps)
  const ended = lost.filter(({ detached }) => !detached)
  await store.execs.lose(
    ended.map(({ id }) => id),
    clock.now(),
  )
  const known = await store.execs.withFiles()
  await outputs.sweep([...known, ...held.values(), ...others])
  const recorded = new Set(known.map(({ execId }) => execId))
  // Their ends were recorded, or their starts never were.
  for (const each of held.values()) void (recorded.has(each.execId) ? each.forget() : discardDetached(each, deps))
}

async function stored(deps: ExecsDeps, box: BoxRecord, id: string): Promise<ReadableExec> {
  const found = await deps.store.execs.get(box.id, id)
  if (!found) throw new ServiceError('exec_not_found', `No exec "${id}" in box "${box.name}".`)
  return endedExec(deps.outputs, found)
}

function readable(live: LiveExec): ReadableExec {
  return { record: live.record(), read: live.read, onChange: live.onChange }
}

function outputWish({ stream, offset, max_bytes: maxBytes, encoding, wait_seconds }: ExecOutputQuery): OutputOptions {
  return { stream, offset, maxBytes, isText: encoding === 'utf-8', waitMs: wait_seconds * 1000 }
}

function stateOf(exec: ReadableExec, maxBytes: number): ExecState {
  return { record: exec.record, output: readTails(exec, maxBytes) }
}

function tooMany(most: number): ServiceError {
  const detail = `Of the ${most} commands that this agent takes at once, no more are left for this box.`
  return new ServiceError('rate_limited', detail, { headers: { 'Retry-After': '1' } })
}

/**
 * Refuses a box in which nothing can be started.
 * @throws ServiceError `box_not_running`
 */
export function checkRunning({ name, observed }: BoxRecord): void {
  if (observed.status === 'running') return
  const detail = `The box "${name}" is ${observed.status} (${observed.reason}); resume it first.`
  throw new ServiceError('box_not_running', detail)
}

const STARTED = { name: 'boxyard_execs_started_total', help: 'Commands that were started.', labels: [] } as const
