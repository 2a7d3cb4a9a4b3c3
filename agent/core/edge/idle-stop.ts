import type { Logger } from '../../../shared/log.ts'
import type { Edge, EdgeUse } from '../../ports/edge/edge.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { Store } from '../../ports/store/store.ts'
import type { BoxActivity } from '../boxes/activity.ts'
import { pendingRecord } from '../reconcile/outcome.ts'
import type { Reconciler } from '../reconcile/reconciler.ts'
import type { EdgeRoutes } from './routes.ts'

export interface IdleStopDeps {
  store: Store
  reconciler: Pick<Reconciler, 'exclusive' | 'wake'>
  activity: BoxActivity
  edge: Pick<Edge, 'use'>
  routes: Pick<EdgeRoutes, 'settle'>
  clock: Clock
  logger: Logger
}

/** Last observed use of a box. */
interface BoxUse {
  /** Start of its current run. Another run resets the other fields. */
  since: number
  usedAt: number
  /** Requests to its URLs, as the edge counts them. */
  requests: number
}

type Use = ReadonlyMap<string, EdgeUse>

/**
 * Stops boxes that were idle for their `idle_stop_seconds`. The returned function ends that, and resolves once no stop is in progress.
 * Observed use is only in memory, so a restart of the agent resets the idle time of each box.
 */
export function startIdleStops(deps: IdleStopDeps): () => Promise<void> {
  const { store, clock, activity, logger } = deps
  const watched = new Map<string, BoxUse>()
  activity.onUse((boxId) => {
    const known = watched.get(boxId)
    if (known) known.usedAt = clock.now()
  })
  const logFailure =
    ({ id }: BoxRecord) =>
    (error: unknown): void =>
      logger.warn('stopping an idle box later', { box: id, error })
  const poll = async (): Promise<number> => {
    const records = await store.boxes.withIdleStop()
    const ids = new Set(records.map(({ id }) => id))
    for (const id of watched.keys()) if (!ids.has(id)) watched.delete(id)
    if (records.length === 0) return POLL_MS
    const use = await deps.edge.use()
    let waitMs = POLL_MS
    for (const record of records) {
      const known = updateUse(watched, record, { use, now: clock.now() })
      const plan = planIdle(factsOf(record, known, { use, activity }), clock.now())
      if (plan.kind === 'stop') await stopUnused(deps, record, known).catch(logFailure(record))
      else waitMs = Math.min(waitMs, plan.ms)
    }
    return Math.max(waitMs, POLL_MIN_MS)
  }
  const ending = new AbortController()
  const run = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      const waitMs = await poll().catch((error: unknown) => {
        logger.warn('failed to read the activity of boxes, not stopping idle ones', { error })
        return POLL_MS
      })
      await clock.sleep(waitMs, ending.signal)
    }
  }
  const ended = run()
  return () => {
    ending.abort()
    return ended
  }
}

function updateUse(
  watched: Map<string, BoxUse>,
  { id, observed }: BoxRecord,
  { use, now }: { use: Use; now: number },
): BoxUse {
  const { requests = 0, open = 0 } = use.get(id) ?? {}
  const known = watched.get(id)
  if (known?.since !== observed.since) {
    const initial = { since: observed.since, usedAt: now, requests }
    watched.set(id, initial)
    return initial
  }
  // Any difference is use. A lower count means that the edge restarted, and has served these since.
  if (open > 0 || known.requests !== requests) known.usedAt = now
  known.requests = requests
  return known
}

function factsOf(
  { id, urlSettings, leaseUntil }: BoxRecord,
  { usedAt }: BoxUse,
  { use, activity }: { use: Use; activity: BoxActivity },
) {
  const isInUse = activity.isInUse(id) || (use.get(id)?.open ?? 0) > 0
  return { idleStopMs: (urlSettings.idle_stop_seconds ?? 0) * 1000, usedAt, isInUse, leaseUntil }
}

/**
 * Stops a box as a request would. Checks its use once more after the edge has stopped routing to it, and undoes the stop if a request
 * arrived.
 */
async function stopUnused(deps: IdleStopDeps, record: BoxRecord, known: BoxUse): Promise<void> {
  const { store, reconciler, routes, clock, logger } = deps
  const before = { ...known }
  const turn = async (isRunning: boolean): Promise<void> => {
    const stopping = stoppingRecord(record, clock.now())
    // Leaves a record that has changed to the next poll.
    if (!isRunning || !(await store.boxes.replace(stopping))) return
    const isUnused = await routes
      .settle(record.id)
      .then(() => isStillUnused(deps, record, { before, known }))
      .catch((error: unknown) => {
        logger.warn('failed to stop an idle box', { box: record.id, error })
        return false
      })
    if (isUnused) logger.info('stopping an idle box', { box: record.id })
    else await undoStop(deps, record, stopping)
  }
  await reconciler.exclusive(record.id, turn, TURN_MS)
  reconciler.wake(record.id)
}

async function isStillUnused(
  { edge, activity }: IdleStopDeps,
  { id }: BoxRecord,
  { before, known }: { before: BoxUse; known: BoxUse },
): Promise<boolean> {
  const { requests = 0, open = 0 } = (await edge.use()).get(id) ?? {}
  return requests === before.requests && open === 0 && known.usedAt === before.usedAt && !activity.isInUse(id)
}

// Keeps a desired state that has changed.
async function undoStop({ store, routes, clock }: IdleStopDeps, record: BoxRecord, stopping: BoxRecord): Promise<void> {
  const generation = stopping.desired.generation + 1
  const running: BoxRecord = {
    ...record,
    version: stopping.version + 1,
    updatedAt: clock.now(),
    desired: { power: 'running', generation },
    observed: { ...record.observed, generation },
  }
  if (await store.boxes.replace(running)) await routes.settle(record.id)
}

function stoppingRecord(record: BoxRecord, now: number): BoxRecord {
  const generation = record.desired.generation + 1
  const desired = { power: 'stopped' as const, generation, cause: 'idle' as const }
  const stopping = pendingRecord({ ...record, desired }, 'stopping', now)
  const message = `Stopped after ${record.urlSettings.idle_stop_seconds} s without use (url_settings.idle_stop_seconds).`
  return { ...stopping, observed: { ...stopping.observed, message } }
}

/** Observed use of a box with `idle_stop_seconds`. Durations in ms, times in ms since the epoch. */
export interface IdleFacts {
  /** Idle time after which it stops. */
  idleStopMs: number
  /** Time of the last use. Initially the start of the box, or the first poll of this agent. */
  usedAt: number
  isInUse: boolean
  /** End of its lease, which may be past. Null if it never had one. */
  leaseUntil: number | null
}

/** Stop now, or check again in `ms` at the earliest. */
export type IdlePlan = { kind: 'stop' } | { kind: 'wait'; ms: number }

/** Decides whether a box has been idle for long enough. A lease counts as use. Pure. */
export function planIdle({ idleStopMs, usedAt, isInUse, leaseUntil }: IdleFacts, now: number): IdlePlan {
  const lastUse = isInUse ? now : usedAt
  const dueAt = Math.max(lastUse, leaseUntil ?? 0) + idleStopMs
  return dueAt <= now ? { kind: 'stop' } : { kind: 'wait', ms: dueAt - now }
}

const POLL_MS = 5_000
const POLL_MIN_MS = 100
const TURN_MS = 1_000
