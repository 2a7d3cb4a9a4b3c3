import type { Logger } from '../../../shared/log.ts'
import type { Runtime } from '../../ports/boxes/runtime.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { BoxStore, RunningBoxRef } from '../../ports/store/boxes.ts'
import type { UsageHistory, UsagePoint } from '../../ports/store/usage-history.ts'

export interface UsageHistoryDeps {
  store: { boxes: Pick<BoxStore, 'ids' | 'running'> }
  runtime: Pick<Runtime, 'usage'>
  filesystem: Pick<CowFilesystem, 'usedBytes'>
  history: UsageHistory
  clock: Clock
  logger: Logger
}

/**
 * Samples the running boxes at each full minute, a few at a time with pauses, and records their usage since the previous sample.
 * - Keeps points by the minute for two hours, and condensed for a day.
 * - Records no point for a minute without two samples of one run.
 * - Logs a round over all boxes that takes longer than a minute. Then each sample gives a point.
 * - Keeps points that cannot be written for the next minute, up to a maximum.
 * The returned function stops the sampling, and resolves once no sample is in progress.
 */
export function startUsageHistory(deps: UsageHistoryDeps): () => Promise<void> {
  const { clock, logger } = deps
  const state: State = { looks: new Map(), tookSeconds: 0, unwritten: [], condensedAt: null }
  const ending = new AbortController()
  const { signal } = ending
  const run = async (): Promise<void> => {
    let fault = ''
    let isLate = false
    while (!signal.aborted) {
      const at = nextEnd(clock.now(), FINE.stepMs)
      await clock.sleep(at - clock.now(), signal)
      try {
        const failed = await lookAtAll(deps, state, { at, signal })
        if (!isLate && isTooLong(state))
          logger.warn(TOO_LONG, { seconds: Math.round(state.tookSeconds), boxes: state.looks.size })
        isLate = isTooLong(state)
        if (!signal.aborted) await tidy(deps, state, { at, signal })
        if (failed.length > 0) throw failed[0]
        fault = ''
      } catch (error) {
        if (String(error) !== fault) logger.warn('failed to store the usage history of boxes', { error })
        fault = String(error)
      }
    }
  }
  const ended = run()
  return () => {
    ending.abort()
    return ended
  }
}

/** Reads the kept points of a box with one step, oldest first. */
export function readUsageHistory(
  { history, clock }: Pick<UsageHistoryDeps, 'history' | 'clock'>,
  boxId: string,
  stepSeconds: UsageStepSeconds,
): Promise<UsagePoint[]> {
  const { stepMs, keepMs } = stepSeconds === FINE.stepMs / 1000 ? FINE : COARSE
  return history.read(boxId, { stepMs, after: clock.now() - keepMs, until: clock.now() })
}

/** The counters of a box at one time. */
export interface UsageLook {
  at: number
  /** Start of its run. */
  since: number
  cpuSeconds: number | null
  receivedBytes: number
  sentBytes: number
}

/**
 * Returns the rates between two samples. Null if they belong to different runs, are more than `gapSeconds` apart, or if a counter
 * decreased. Pure.
 */
export function ratesBetween(
  before: UsageLook,
  now: UsageLook,
  gapSeconds: number = GAP_SECONDS,
): Pick<UsagePoint, 'cpuCores' | 'receivedPerSecond' | 'sentPerSecond'> | null {
  const seconds = (now.at - before.at) / 1000
  if (before.since !== now.since || seconds <= 0 || seconds > gapSeconds) return null
  const cpuCores =
    now.cpuSeconds === null || before.cpuSeconds === null ? null : (now.cpuSeconds - before.cpuSeconds) / seconds
  const receivedPerSecond = (now.receivedBytes - before.receivedBytes) / seconds
  const sentPerSecond = (now.sentBytes - before.sentBytes) / seconds
  if ((cpuCores ?? 0) < 0 || receivedPerSecond < 0 || sentPerSecond < 0) return null
  return { cpuCores, receivedPerSecond, sentPerSecond }
}

interface State {
  /** Last sample of each running box. */
  looks: Map<string, UsageLook>
  /** Duration of the last round over all boxes. */
  tookSeconds: number
  /** Points that could not be written, oldest first. */
  unwritten: UsagePoint[]
  /** End of the last interval that this process condensed. Null for none. */
  condensedAt: number | null
}

/** Returns why boxes could not be sampled. */
async function lookAtAll(
  deps: UsageHistoryDeps,
  state: State,
  { at, signal }: { at: number; signal: AbortSignal },
): Promise<unknown[]> {
  const { store, clock } = deps
  const { looks: before, tookSeconds } = state
  const begunAt = clock.now()
  // Two samples of a box are as far apart as the length of a round, up to the next minute.
  const gapSeconds = Math.max(GAP_SECONDS, Math.min(2 * tookSeconds + FINE.stepMs / 1000, GAP_MAX_SECONDS))
  const looks = new Map<string, UsageLook>()
  const failed: unknown[] = []
  let points: UsagePoint[] = []
  const write = async (): Promise<void> => {
    const unwritten = [...state.unwritten, ...points]
    points = []
    state.unwritten = []
    await append(deps, state, unwritten).catch((error: unknown) => failed.push(error))
  }
  for (let last: RunningBoxRef | null = null; !signal.aborted; ) {
    const boxes: RunningBoxRef[] = await store.boxes.running(last, LOOKS_IN_A_ROW)
    for (const box of boxes)
      try {
        points.push(...(await lookAt(deps, box, { at, before, looks, gapSeconds })))
      } catch (error) {
        failed.push(error)
      }
    last = boxes.at(-1) ?? null
    const isLast = boxes.length < LOOKS_IN_A_ROW
    // Nothing is synced. The limit protects the event loop.
    if (points.length >= POINTS_IN_A_ROW || (isLast && points.length + state.unwritten.length > 0)) await write()
    if (isLast) break
    await clock.sleep(PAUSE_MS, signal)
  }
  state.looks = looks
  state.tookSeconds = (clock.now() - begunAt) / 1000
  return failed
}

/** Writes points in batches. Keeps points that cannot be written, at most the newest of them. */
async function append({ history }: UsageHistoryDeps, state: State, points: readonly UsagePoint[]): Promise<void> {
  for (let from = 0; from < points.length; from += POINTS_IN_A_ROW) {
    try {
      await history.append(FINE.stepMs, points.slice(from, from + POINTS_IN_A_ROW))
    } catch (error) {
      state.unwritten = points.slice(from).slice(-UNWRITTEN_MAX)
      throw error
    }
  }
}

function isTooLong({ tookSeconds }: State): boolean {
  return tookSeconds * 1000 >= FINE.stepMs
}

interface LookOptions {
  at: number
  before: ReadonlyMap<string, UsageLook>
  looks: Map<string, UsageLook>
  /** Seconds between two samples above which there is a gap. */
  gapSeconds: number
}

async function lookAt(
  { runtime, filesystem, clock }: UsageHistoryDeps,
  { id, root, since }: RunningBoxRef,
  { at, before, looks, gapSeconds }: LookOptions,
): Promise<UsagePoint[]> {
  const usage = await runtime.usage(id)
  if (usage === null) return []
  const { cpuSeconds, memoryBytes, cacheBytes, network } = usage
  const look = {
    at: clock.now(),
    since,
    cpuSeconds,
    receivedBytes: network.receivedBytes,
    sentBytes: network.sentBytes,
  }
  looks.set(id, look)
  const earlier = before.get(id)
  const rates = earlier === undefined ? null : ratesBetween(earlier, look, gapSeconds)
  if (rates === null) return []
  // A restore may be replacing its root. A pool that does not answer must not remove the other values.
  const storageBytes = await filesystem.usedBytes(root).catch(() => null)
  return [{ boxId: id, at, memoryBytes, cacheBytes, storageBytes, ...rates }]
}

/** Condenses finished intervals, forgets deleted boxes, and drops old points. */
async function tidy(
  deps: UsageHistoryDeps,
  state: State,
  { at: now, signal }: { at: number; signal: AbortSignal },
): Promise<void> {
  // Unwritten points are condensed later, with the rest of their interval.
  if (state.unwritten.length === 0) await condenseDue(deps, state, now)
  for (const { stepMs, keepMs } of [FINE, COARSE]) {
    const query = { stepMs, after: now - keepMs, until: now }
    while (!signal.aborted && (await deps.history.prune(query)));
  }
}

async function condenseDue({ store, history }: UsageHistoryDeps, state: State, now: number): Promise<void> {
  const { stepMs } = COARSE
  const due = Math.floor(now / stepMs) * stepMs
  const first = Math.ceil((now - FINE.keepMs) / stepMs + 1) * stepMs
  if (state.condensedAt === null || state.condensedAt < due) {
    // The last interval that another process condensed may be incomplete.
    const begun = state.condensedAt === null ? await history.latest(stepMs) : state.condensedAt + stepMs
    for (let at = Math.max(first, begun ?? 0); at <= due; at += stepMs)
      await history.condense({ fromMs: FINE.stepMs, toMs: stepMs }, at)
    await history.keep(new Set(await store.boxes.ids()))
  }
  state.condensedAt = due
}

// A timer may fire a little early. Do not sample the same minute twice.
function nextEnd(now: number, stepMs: number): number {
  return Math.floor((now + EARLY_MS) / stepMs + 1) * stepMs
}

/** The steps of points, in seconds. */
export type UsageStepSeconds = 60 | 600

const FINE = { stepMs: 60_000, keepMs: 2 * 3_600_000 }
const COARSE = { stepMs: 600_000, keepMs: 24 * 3_600_000 }
const EARLY_MS = 1000
/** Seconds between two samples above which there is a gap, because this process was stopped or the clock was set. */
const GAP_SECONDS = 180
/** The same if rounds take long. Above it this process was stopped, or the values are useless. */
const GAP_MAX_SECONDS = 3_600
/** Two minutes of 10,000 boxes. */
const UNWRITTEN_MAX = 20_000
const TOO_LONG = 'sampling all running boxes takes longer than a minute, so their usage history is coarser'
const LOOKS_IN_A_ROW = 8
const PAUSE_MS = 25
const POINTS_IN_A_ROW = 1000
