import { ServiceError } from '../../../shared/errors.ts'
import { createFairShares } from '../../../shared/fair-shares.ts'
import { LINGERING_MAX } from '../../../shared/lingering.ts'
import { refusal } from '../../../shared/refusals.ts'
import type { ExecBody, ExecListQuery, ExecOutputQuery } from '../../../shared/schemas/exec.ts'
import type { ExecStreamQuery } from '../../../shared/schemas/exec-streams.ts'
import type { ExecKey } from '../../ports/exec/outputs.ts'
import type { Meter } from '../../ports/host/meter.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { ExecRecord } from '../../ports/store/exec.ts'
import type { BoxActivity } from '../boxes/activity.ts'
import { boxAccounts } from '../common/accounts.ts'
import { withTimer } from '../common/deadline.ts'
import { checkEnvironment } from '../common/environment.ts'
import { decodeCursor, encodeCursor } from '../common/paging.ts'
import { turnsOf } from '../common/turns.ts'
import { type CommandStream, launchStream } from './command-stream.ts'
import { discardDetached, followDetached, type LiveExec, recordLost } from './live-exec.ts'
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
import { createExecTable } from './table.ts'

export interface ExecsDeps extends ExecStartDeps {
  activity: BoxActivity
  meter: Meter
  limits: ExecStartDeps['limits'] & { execOutputBytes: number; execsAtOnce: number }
}

export interface ExecRunOptions {
  waitMs: number
  /** Called once the command is recorded as running, before its end is awaited. */
  onRecorded(id: string): Promise<void>
}

/** The record of a command as of now, with the end of its output. */
export interface ExecState {
  record: ExecRecord
  output: OutputTails
}

/** The commands of the API. All but `recover` and `close` throw `exec_not_found` for a command the box does not have. */
export interface Execs {
  /**
   * Adopts detached commands of earlier agents and records which others were lost. Call before any other method. Keeps the
   * commands of `others`, which are not commands of the API, such as runs of services.
   */
  recover(others: readonly ExecKey[]): Promise<void>
  /**
   * Starts a command and waits for its end, for at most `waitMs`. It keeps running after that.
   * @throws ServiceError `box_not_running`, `environment_reserved`, `invalid_request` (no such user)
   */
  run(box: BoxRecord, body: ExecBody, options: ExecRunOptions): Promise<ExecState>
  /** Starts a command that a client streams, with the id that the client got before or, for null, a new one. Throws as `run`, or `runtime_unavailable`. */
  stream(box: BoxRecord, query: ExecStreamQuery, id: string | null): Promise<CommandStream>
  /** Returns a command, waiting for its end for at most `waitMs`. */
  get(box: BoxRecord, id: string, waitMs: number): Promise<ExecState>
  /** Lists commands, oldest first. `next` is the token of the next page. */
  list(box: BoxRecord, query: ExecListQuery): Promise<{ records: ExecRecord[]; next: string | null }>
  /**
   * Reads a piece of a stream.
   * @throws ServiceError `range_not_satisfiable`
   */
  output(box: BoxRecord, id: string, query: ExecOutputQuery): Promise<ExecPiece>
  /** Signals all processes of a command. Does nothing if it has ended. */
  signal(box: BoxRecord, id: string, name: NodeJS.Signals): Promise<ExecRecord>
  /** Ends the commands of this process. Resolves once their ends are recorded, or after `graceMs`. Detached ones keep running. */
  close(graceMs: number): Promise<void>
}

/** Keeps running commands by id. Their records outlive them in the store. */
export function createExecs(deps: ExecsDeps): Execs {
  const { clock, limits, meter, activity } = deps
  const countStart = meter.counter(STARTED)
  const running = createFairShares(limits.execsAtOnce)
  const table = createExecTable({ lingering: LINGERING_MAX, running, activity, meter, logger: deps.logger })

  const find = async (box: BoxRecord, id: string): Promise<ReadableExec> => {
    const live = table.get(box.id, id)
    if (live) return readable(live)
    return stored(deps, box, id)
  }
  const stateAfter = async (box: BoxRecord, live: LiveExec, waitMs: number): Promise<ExecState> => {
    await withTimer({ clock, ms: waitMs }, (over) => Promise.race([live.ended, over]))
    // The output may be released before the turn comes. Then it is in the store.
    return turnsOf(deps.actorContext)(async () => stateOf(await find(box, live.id), limits.execOutputBytes))
  }
  const ownersOf = (box: BoxRecord): string[] => boxAccounts(box, deps.actorContext.current())
  const begin = async <T>(box: BoxRecord, start: () => Promise<T>): Promise<T> => {
    checkRunning(box)
    const leave = running.take(ownersOf(box))
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
    recover: (others) => recover(deps, others, (live) => table.add(live, boxAccounts(projectOf(live), null))),
    run: async (box, body, { waitMs, onRecorded }) => {
      checkEnvironment(body.env ?? {})
      const live = await begin(box, () => launchExec(deps, box, body))
      table.add(live, ownersOf(box))
      await onRecorded(live.id)
      return stateAfter(box, live, waitMs)
    },
    stream: async (box, query, id) => {
      const onStarted = (live: LiveExec): void => table.add(live, ownersOf(box))
      return begin(box, () => launchStream({ ...deps, onStarted }, box, { ...query, id }))
    },
    get: async (box, id, waitMs) => {
      const live = table.get(box.id, id)
      if (live) return stateAfter(box, live, waitMs)
      return stateOf(await stored(deps, box, id), limits.execOutputBytes)
    },
    list: async (box, query) => {
      const [after = null] = decodeCursor(query.continuation_token, 1) ?? []
      const page = { boxId: box.id, status: query.status ?? null, after, limit: query.max_results }
      const { records, hasMore } = await deps.store.execs.list(page)
      const last = records.at(-1)
      const next = hasMore && last !== undefined ? encodeCursor([last.id]) : null
      const now = records.map((record) => table.get(box.id, record.id)?.record() ?? record)
      return { records: now.filter(({ status }) => query.status === undefined || status === query.status), next }
    },
    output: (box, id, query) =>
      readWaiting(() => find(box, id), outputOptions(query), { clock, inTurn: turnsOf(deps.actorContext) }),
    signal: async (box, id, name) => {
      const live = table.get(box.id, id)
      if (!live) return (await stored(deps, box, id)).record
      await live.signal(name)
      return live.record()
    },
    close: (graceMs) => Promise.race([table.close(), clock.sleep(graceMs)]),
  }
}

// Adopts detached commands. The attached ones of the last agent ended with it, how is unknown.
async function recover(deps: ExecsDeps, others: readonly ExecKey[], add: (live: LiveExec) => void): Promise<void> {
  const { store, outputs, runtime, clock, logger } = deps
  const detached = new Map((await runtime.listDetached()).map((each) => [each.execId, each]))
  for (const { execId } of others) detached.delete(execId)
  const lost: ExecRecord[] = []
  for (const record of await store.execs.running()) {
    const each = detached.get(record.id)
    detached.delete(record.id)
    if (each) add(followDetached({ record, detached: each, deps }))
    else lost.push(record)
  }
  if (lost.length > 0) logger.warn('lost commands of the previous agent process', { execs: lost.length })
  for (const record of lost) if (record.detached) await recordLost(record, deps)
  const ended = lost.filter(({ detached }) => !detached)
  await store.execs.lose(
    ended.map(({ id }) => id),
    clock.now(),
  )
  const known = await store.execs.withFiles()
  await outputs.sweep([...known, ...detached.values(), ...others])
  const recorded = new Set(known.map(({ execId }) => execId))
  // The remaining ones were recorded as ended, or never recorded at all.
  for (const each of detached.values()) void (recorded.has(each.execId) ? each.forget() : discardDetached(each, deps))
}

async function stored(deps: ExecsDeps, box: BoxRecord, id: string): Promise<ReadableExec> {
  const found = await deps.store.execs.get(box.id, id)
  if (!found) throw new ServiceError('exec_not_found', `No exec "${id}" in box "${box.name}".`)
  return endedExec(deps.outputs, found)
}

function projectOf(live: LiveExec): { id: string; project: string } {
  return { id: live.boxId, project: live.record().project }
}

function readable(live: LiveExec): ReadableExec {
  return { record: live.record(), read: live.read, onChange: live.onChange }
}

function outputOptions({
  stream,
  offset,
  max_bytes: maxBytes,
  encoding,
  wait_seconds,
}: ExecOutputQuery): OutputOptions {
  return { stream, offset, maxBytes, isText: encoding === 'utf-8', waitMs: wait_seconds * 1000 }
}

function stateOf(exec: ReadableExec, maxBytes: number): ExecState {
  return { record: exec.record, output: readTails(exec, maxBytes) }
}

function tooMany(most: number): ServiceError {
  const why = `Too many commands are running. This agent allows ${most} at once, shared by boxes, projects and tokens.`
  return refusal('rate_limited', [why, 'End some, or try again in 1 s.'], { headers: { 'Retry-After': '1' } })
}

/**
 * Throws unless the box is running.
 * @throws ServiceError `box_not_running`
 */
export function checkRunning({ name, observed }: BoxRecord): void {
  if (observed.status === 'running') return
  throw refusal('box_not_running', [
    `The box "${name}" is ${observed.status} (${observed.reason}).`,
    'Resume it first.',
  ])
}

const STARTED = { name: 'boxyard_execs_started_total', help: 'Commands that were started.', labels: [] } as const
