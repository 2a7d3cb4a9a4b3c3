import type { Logger } from '../../../shared/log.ts'
import type { Edge, EdgeUse } from '../../ports/edge/edge.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { BoxRecord, Store } from '../../ports/store/store.ts'
import type { BoxActivity } from '../boxes/activity.ts'
import { pendingRecord } from '../reconcile/outcome.ts'
import type { Reconciler } from '../reconcile/reconciler.ts'
import { planIdle } from './idle-plan.ts'
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

/** What was seen of a box so far. */
interface Watched {
  /** Since when it runs: started anew, it is another matter. */
  since: number
  usedAt: number
  /** To its URLs, as the edge counts them. */
  requests: number
}

type Use = ReadonlyMap<string, EdgeUse>

/**
 * Stops boxes that nobody has used for as long as their `idle_stop_seconds` say, until what it returns is called, which resolves
 * once none is being stopped. What was seen is in memory alone: with a new agent the time of each box begins anew.
 */
export function startIdleStops(deps: IdleStopDeps): () => Promise<void> {
  const { store, clock, activity, logger } = deps
  const watched = new Map<string, Watched>()
  activity.onUse((boxId) => {
    const known = watched.get(boxId)
    if (known) known.usedAt = clock.now()
  })
  const tell =
    ({ id }: BoxRecord) =>
    (error: unknown): void =>
      logger.warn('a box that nobody used is not stopped yet', { box: id, error })
  const look = async (): Promise<number> => {
    const records = await store.boxes.withIdleStop()
    const ids = new Set(records.map(({ id }) => id))
    for (const id of watched.keys()) if (!ids.has(id)) watched.delete(id)
    if (records.length === 0) return LOOK_MS
    const use = await deps.edge.use()
    let waitMs = LOOK_MS
    for (const record of records) {
      const known = note(watched, record, { use, now: clock.now() })
      const plan = planIdle(factsOf(record, known, { use, activity }), clock.now())
      if (plan.kind === 'stop') await stopUnused(deps, record, known).catch(tell(record))
      else waitMs = Math.min(waitMs, plan.ms)
    }
    return Math.max(waitMs, LOOK_MIN_MS)
  }
  const ending = new AbortController()
  const run = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      const waitMs = await look().catch((error: unknown) => {
        logger.warn('whether boxes are used is not known just now: none is stopped', { error })
        return LOOK_MS
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

function note(
  watched: Map<string, Watched>,
  { id, observed }: BoxRecord,
  { use, now }: { use: Use; now: number },
): Watched {
  const { requests = 0, open = 0 } = use.get(id) ?? {}
  const known = watched.get(id)
  if (known?.since !== observed.since) {
    const first = { since: observed.since, usedAt: now, requests }
    watched.set(id, first)
    return first
  }
  // Fewer than before: the edge was started anew, and these came since.
  if (open > 0 || known.requests !== requests) known.usedAt = now
  known.requests = requests
  return known
}

function factsOf(
  { id, urlSettings, leaseUntil }: BoxRecord,
  { usedAt }: Watched,
  { use, activity }: { use: Use; activity: BoxActivity },
) {
  const isInUse = activity.isInUse(id) || (use.get(id)?.open ?? 0) > 0
  return { idleStopMs: (urlSettings.idle_stop_seconds ?? 0) * 1000, usedAt, isInUse, leaseUntil }
}

/**
 * Stops a box as somebody would who asks for it, but looks once more when no new request can reach it any more: one that came
 * meanwhile has the box go on.
 */
async function stopUnused(deps: IdleStopDeps, record: BoxRecord, known: Watched): Promise<void> {
  const { store, reconciler, routes, clock, logger } = deps
  const before = { ...known }
  const turn = async (isRunning: boolean): Promise<void> => {
    const stopping = stoppingRecord(record, clock.now())
    // Changed meanwhile, it is looked at again.
    if (!isRunning || !(await store.boxes.replace(stopping))) return
    const isUnused = await routes
      .settle(record.id)
      .then(() => isStillUnused(deps, record, { before, known }))
      .catch((error: unknown) => {
        logger.warn('a box that nobody used is not stopped', { box: record.id, error })
        return false
      })
    if (isUnused) logger.info('a box is stopped: nobody used it', { box: record.id })
    else await goOn(deps, record, stopping)
  }
  await reconciler.exclusive(record.id, turn, TURN_MS)
  reconciler.wake(record.id)
}

async function isStillUnused(
  { edge, activity }: IdleStopDeps,
  { id }: BoxRecord,
  { before, known }: { before: Watched; known: Watched },
): Promise<boolean> {
  const { requests = 0, open = 0 } = (await edge.use()).get(id) ?? {}
  return requests === before.requests && open === 0 && known.usedAt === before.usedAt && !activity.isInUse(id)
}

// Whoever asked for something else meanwhile has what was asked for.
async function goOn({ store, routes, clock }: IdleStopDeps, record: BoxRecord, stopping: BoxRecord): Promise<void> {
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
  const desired = { power: 'stopped' as const, generation: record.desired.generation + 1 }
  const stopping = pendingRecord({ ...record, desired }, 'stopping', now)
  const message = `Stopped after ${record.urlSettings.idle_stop_seconds} s without use (url_settings.idle_stop_seconds).`
  return { ...stopping, observed: { ...stopping.observed, message } }
}

const LOOK_MS = 5_000
const LOOK_MIN_MS = 100
const TURN_MS = 1_000
