import type {
  CandidateRecord,
  CandidateSlot,
  ForkRecord,
  InstanceRecord,
  RunEnd,
  ServiceRecord,
  ServiceSpec,
  StartSlot,
} from '../../ports/store/services.ts'
import { lastRun } from '../common/service-instances.ts'

/** The input of `planService`. Times in ms since the epoch. */
export interface ServiceWorld {
  /** Time since which its box runs. Null if it does not run. */
  boxSince: number | null
  /** True while the last run of the active version runs. */
  isLive: boolean
  /** Services that it needs and that are not ready. */
  unready: readonly string[]
  now: number
}

/** The next step of the active version. `rest`: nothing, until something changes. */
export type ServiceStep =
  | { kind: 'rest' }
  | { kind: 'wait'; ms: number }
  | { kind: 'blocked'; by: readonly string[] }
  | { kind: 'start'; isFresh: boolean }
  | { kind: 'stop' }

/** A run in progress. */
export interface ObservedRun {
  isReady: boolean
  isEnding: boolean
  /** The reason that its last probe failed. */
  why: string | null
  monitoredSince: number
}

/** The input of `planInstances`. */
export interface InstancesWorld extends ServiceWorld {
  /** Returns null for a version that does not run. */
  runOf(instance: InstanceRecord): ObservedRun | null
  /** True once no request is open to the previous version. */
  isDrained: boolean
  /** Time in ms when this agent began to route. A switch that it found recorded may have reached the edge only then. */
  routingSince: number
}

/** The next action for a service. `rest`: none, for `inMs` or until something changes. */
export type ServiceAction =
  | { kind: 'rest'; inMs: number | null }
  | { kind: 'start'; slot: StartSlot; isFresh: boolean }
  /** Terminates the run of a version, with `drains` after its requests. */
  | { kind: 'end'; instance: InstanceRecord; drains: boolean }
  /** Kills all processes of a fork. */
  | { kind: 'halt'; fork: ForkRecord }
  /** Records that a candidate has not become ready. */
  | { kind: 'fail'; slot: CandidateSlot; why: string }
  /** Makes `next` the active version. */
  | { kind: 'switch' }
  /** Cuts off the requests that are still open to the previous version after its grace. */
  | { kind: 'cut-off' }
  /** Removes a retired version that has ended, with its output. */
  | { kind: 'forget'; instance: InstanceRecord }

/** Plans the next action for any version of a service. A pure function, tested as a table. */
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

/** Plans the next step of the active version. A pure function, tested as a table. */
export function planService(record: ServiceRecord, world: ServiceWorld): ServiceStep {
  const { boxSince, isLive, unready, now } = world
  const isWanted = record.desired === 'running' && boxSince !== null
  // The processes of a box end with it.
  if (isLive) return record.desired === 'stopped' && boxSince !== null ? { kind: 'stop' } : { kind: 'rest' }
  if (!isWanted) return { kind: 'rest' }
  const due = startDue(record, boxSince, now)
  if (due === null) return { kind: 'rest' }
  if (due.inMs > 0) return { kind: 'wait', ms: due.inMs }
  if (unready.length > 0) return { kind: 'blocked', by: unready }
  return { kind: 'start', isFresh: due.isFresh }
}

/** Returns the milliseconds from the `failures`th end in a row to the next start: 0.25 s, doubled each time, at most 60 s. */
export function backOffMs(failures: number): number {
  return Math.min(BACK_OFF_MAX_MS, BACK_OFF_MS * 2 ** Math.max(0, failures - 1))
}

/** Describes the end of a run. */
export function endText({
  exitCode,
  signal,
  outOfMemory,
}: Pick<RunEnd, 'exitCode' | 'signal' | 'outOfMemory'>): string {
  if (outOfMemory) return 'It ran out of memory.'
  if (exitCode !== null) return `It ended with exit code ${exitCode}.`
  return signal === null ? 'It could not be started, or its end was not observed.' : `It was ended by ${signal}.`
}

/** Applies the restart policy to the end of a run. */
export function isRestarted({ restart }: ServiceSpec, end: RunEnd): boolean {
  return restart === 'always' || (restart === 'on-failure' && end.exitCode !== 0)
}

function planActive(record: ServiceRecord, world: InstancesWorld): ServiceAction {
  const step = planService(record, world)
  if (step.kind === 'start') return { kind: 'start', slot: 'active', isFresh: step.isFresh }
  if (step.kind === 'stop' && record.active !== null) return endOnce(record.active, world)
  return { kind: 'rest', inMs: step.kind === 'wait' ? step.ms : null }
}

// Starts a candidate once per start of its box, and again, up to 3 times, only if the end of its run is unknown.
function planCandidate(slot: CandidateSlot, candidate: CandidateRecord | null, world: InstancesWorld): ServiceAction {
  if (candidate === null) return REST
  const run = world.runOf(candidate)
  // A fork does not end with its box.
  if (world.boxSince === null)
    return run === null || candidate.fork === null ? REST : { kind: 'halt', fork: candidate.fork }
  if (candidate.failure !== null) return endOnce(candidate, world)
  if (run !== null) {
    if (run.isEnding) return REST
    if (run.isReady) return slot === 'next' ? { kind: 'switch' } : REST
    const inMs = run.monitoredSince + candidate.readyMs - world.now
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
  const inMs = Math.max(previous.since, world.routingSince) + previous.spec.graceSeconds * 1000 - world.now
  return inMs > 0 ? { kind: 'rest', inMs } : { kind: 'cut-off' }
}

function planRetired(instance: ServiceRecord['retired'][number], world: InstancesWorld): ServiceAction {
  if (world.runOf(instance) === null) return { kind: 'forget', instance }
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
/** Starts of a candidate whose ends are unknown. */
const STARTS_MAX = 3
const BACK_OFF_MS = 250
const BACK_OFF_MAX_MS = 60_000
