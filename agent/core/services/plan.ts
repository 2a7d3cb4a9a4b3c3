import type {
  CandidateRecord,
  CandidateSlot,
  ForkRecord,
  InstanceRecord,
  RunEnd,
  ServiceRecord,
  ServiceSpec,
} from '../../ports/store/services.ts'
import { lastRun } from '../common/service-instances.ts'
import type { StartSlot } from './ports.ts'

/** What is seen of a service. Times in ms since the epoch. */
export interface ServiceWorld {
  /** Since when its box runs; null: it does not. */
  boxSince: number | null
  /** Whether its last run goes on. */
  isLive: boolean
  /** Services that it needs and that are not ready. */
  unready: readonly string[]
  now: number
}

/** What is to be done next. `rest`: nothing, until something changes. */
export type ServiceStep =
  | { kind: 'rest' }
  | { kind: 'wait'; ms: number }
  | { kind: 'blocked'; by: readonly string[] }
  | { kind: 'start'; isFresh: boolean }
  | { kind: 'stop' }

/** What is seen of a run that goes on. */
export interface ObservedRun {
  isReady: boolean
  isEnding: boolean
  /** Why it is not ready, as the last look at it tells. */
  why: string | null
  /** Since when it is looked at. */
  followedAt: number
}

/** What is seen of all versions of a service. */
export interface InstancesWorld extends ServiceWorld {
  /** Null: nothing of it runs. */
  runOf(instance: InstanceRecord): ObservedRun | null
  /** Whether the requests that the version before had are over. */
  isDrained: boolean
}

/** What is to be done next for a service. `rest`: nothing, for `inMs` or until something changes. */
export type ServiceAction =
  | { kind: 'rest'; inMs: number | null }
  | { kind: 'start'; slot: StartSlot; isFresh: boolean }
  | { kind: 'end'; instance: InstanceRecord; drains: boolean }
  | { kind: 'halt'; fork: ForkRecord }
  | { kind: 'fail'; slot: CandidateSlot; why: string }
  | { kind: 'switch' }
  | { kind: 'drain' }
  | { kind: 'bury'; instance: InstanceRecord }

/** The next thing to do for any version of a service. A pure function, tested as a table. */
export function planInstances(record: ServiceRecord, world: InstancesWorld): ServiceAction {
  const actions = [
    planActive(record, world),
    planCandidate('next', record.next, world),
    planCandidate('preview', record.preview, world),
    planPrevious(record, world),
    ...record.retired.map((each) => planRetired(each, world)),
  ]
  const waits: number[] = []
  for (const action of actions) {
    if (action.kind !== 'rest') return action
    if (action.inMs !== null) waits.push(action.inMs)
  }
  return { kind: 'rest', inMs: waits.length === 0 ? null : Math.min(...waits) }
}

/** The next step of the active version. A pure function, tested as a table. */
export function planService(record: ServiceRecord, world: ServiceWorld): ServiceStep {
  const { boxSince, isLive, unready, now } = world
  const isWanted = record.desired === 'running' && boxSince !== null
  // With its box everything ends by itself.
  if (isLive) return record.desired === 'stopped' && boxSince !== null ? { kind: 'stop' } : { kind: 'rest' }
  if (!isWanted) return { kind: 'rest' }
  const due = startDue(record, boxSince, now)
  if (due === null) return { kind: 'rest' }
  if (due.inMs > 0) return { kind: 'wait', ms: due.inMs }
  if (unready.length > 0) return { kind: 'blocked', by: unready }
  return { kind: 'start', isFresh: due.isFresh }
}

/** Milliseconds from the `failures`th end in a row to the next start: 0.25 s, doubled each time, at most 60 s. */
export function backOffMs(failures: number): number {
  return Math.min(BACK_OFF_MAX_MS, BACK_OFF_MS * 2 ** Math.max(0, failures - 1))
}

/** How a run ended, for a person. */
export function endText({
  exitCode,
  signal,
  outOfMemory,
}: Pick<RunEnd, 'exitCode' | 'signal' | 'outOfMemory'>): string {
  if (outOfMemory) return 'It ran out of memory.'
  if (exitCode !== null) return `It ended with exit code ${exitCode}.`
  return signal === null ? 'It could not be started, or nobody saw its end.' : `It was ended by ${signal}.`
}

/** Whether a service is started again after such an end, for as long as it is wanted. */
export function isRestarted({ restart }: ServiceSpec, end: RunEnd): boolean {
  return restart === 'always' || (restart === 'on-failure' && end.exitCode !== 0)
}

function planActive(record: ServiceRecord, world: InstancesWorld): ServiceAction {
  const step = planService(record, world)
  if (step.kind === 'start') return { kind: 'start', slot: 'active', isFresh: step.isFresh }
  if (step.kind === 'stop' && record.active !== null) return endOnce(record.active, world)
  return { kind: 'rest', inMs: step.kind === 'wait' ? step.ms : null }
}

// It has one start, but where nobody knows how that came to nothing, and one more in each life of its box.
function planCandidate(slot: CandidateSlot, candidate: CandidateRecord | null, world: InstancesWorld): ServiceAction {
  if (candidate === null) return REST
  const run = world.runOf(candidate)
  // A copy of the box does not end with it by itself.
  if (world.boxSince === null)
    return run === null || candidate.fork === null ? REST : { kind: 'halt', fork: candidate.fork }
  if (candidate.failure !== null) return endOnce(candidate, world)
  if (run !== null) {
    if (run.isEnding) return REST
    if (run.isReady) return slot === 'next' ? { kind: 'switch' } : REST
    const inMs = run.followedAt + candidate.readyMs - world.now
    if (inMs > 0) return { kind: 'rest', inMs }
    const why = `It was not ready within ${candidate.readyMs / 1000} s.`
    return { kind: 'fail', slot, why: run.why === null ? why : `${why} ${run.why}` }
  }
  const last = lastRun(candidate)
  if (last === null || last.boxSince !== world.boxSince) return { kind: 'start', slot, isFresh: true }
  if (last.end === null) return REST
  if (last.end.exitCode !== null || last.end.signal !== null || candidate.failures >= STARTS_MAX)
    return { kind: 'fail', slot, why: endText(last.end) }
  const inMs = last.end.endedAt + backOffMs(candidate.failures) - world.now
  return inMs > 0 ? { kind: 'rest', inMs } : { kind: 'start', slot, isFresh: false }
}

function planPrevious({ previous, desired }: ServiceRecord, world: InstancesWorld): ServiceAction {
  if (previous === null || world.boxSince === null || world.runOf(previous) === null) return REST
  if (desired === 'stopped') return endOnce(previous, world)
  if (world.isDrained || previous.port === null) return REST
  const inMs = previous.since + previous.spec.graceSeconds * 1000 - world.now
  return inMs > 0 ? { kind: 'rest', inMs } : { kind: 'drain' }
}

function planRetired(instance: ServiceRecord['retired'][number], world: InstancesWorld): ServiceAction {
  if (world.runOf(instance) === null) return { kind: 'bury', instance }
  return world.boxSince === null && instance.fork === null ? REST : endOnce(instance, world, instance.drains)
}

function endOnce(instance: InstanceRecord, world: InstancesWorld, drains = false): ServiceAction {
  const run = world.runOf(instance)
  return run === null || run.isEnding ? REST : { kind: 'end', instance, drains }
}

function startDue(
  { active, asked, spec }: ServiceRecord,
  boxSince: number,
  now: number,
): { inMs: number; isFresh: boolean } | null {
  const last = active?.runs.at(-1)
  const isFresh = !active || !last || active.asked < asked || last.boxSince !== boxSince
  if (isFresh) return { inMs: 0, isFresh }
  if (last.end === null || !isRestarted(spec, last.end)) return null
  return { inMs: Math.max(0, last.end.endedAt + backOffMs(active.failures) - now), isFresh }
}

const REST: ServiceAction = { kind: 'rest', inMs: null }
/** Of a version that nobody knows the ends of. */
const STARTS_MAX = 3
const BACK_OFF_MS = 250
const BACK_OFF_MAX_MS = 60_000
