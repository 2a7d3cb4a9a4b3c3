import { newId } from '../../../shared/ids.ts'
import { SERVICE_HISTORY_MAX } from '../../../shared/schemas/services.ts'
import type {
  CandidateRecord,
  CandidateSlot,
  InstanceRecord,
  RunEnd,
  RunRecord,
  ServiceChange,
  ServiceRecord,
  StartSlot,
} from '../../ports/store/services.ts'
import { lastRun, mapInstances, runsOf } from '../common/service-instances.ts'

/**
 * The edits of a service record, which select the active, preview, next and previous version and the runs of each. All are pure, except for
 * the ids of new runs.
 */

/** The actor and time of a switch of versions, and how much log the versions have written. */
export interface SwitchOptions {
  by: string | null
  at: number
  /** Bytes that the live run of a version has written so far. */
  bytesOf(instance: InstanceRecord): number
}

/** Makes the preview the active version, and keeps the active one for a rollback. */
export function promoted(record: ServiceRecord, preview: CandidateRecord, options: SwitchOptions): ServiceRecord {
  const base = { ...withoutNext({ ...retirePrevious(record), preview: null }), desired: 'running' as const }
  // A reader of the log continues with the first byte that the new version wrote.
  return activated(base, shifted(preview, endOfLog(record, options)), { ...options, what: 'promoted' })
}

/** Swaps the active and the previous version. */
export function rolledBack(record: ServiceRecord, previous: InstanceRecord, options: SwitchOptions): ServiceRecord {
  const behind = endOfLog(record, options) - logEnd(previous, options.bytesOf(previous))
  const incoming = shifted(previous, Math.max(0, behind))
  return activated(withoutNext({ ...record, previous: null }), incoming, { ...options, what: 'rolled_back' })
}

/** Makes `next` the active version, once it is ready. */
export function switchedToNext(
  record: ServiceRecord,
  next: NonNullable<ServiceRecord['next']>,
  options: SwitchOptions,
): ServiceRecord {
  const incoming = shifted(next, endOfLog(record, options))
  const base = { ...retirePrevious(record), next: null }
  // The version that was promoted out of a fork runs in the box itself now, so its preview is no longer needed.
  const rest = next.what === 'promoted' ? withoutPreview(base) : base
  return activated(rest, incoming, { ...options, by: next.by, what: next.what })
}

/** Sets the preview, and retires the one before. */
export function withPreview(record: ServiceRecord, preview: CandidateRecord): ServiceRecord {
  return { ...withoutPreview(record), preview }
}

/** Retires the preview, if there is one, and cancels its promotion. */
export function withoutPreview(record: ServiceRecord): ServiceRecord {
  if (record.preview === null) return record
  const { retired, ...rest } = record.next?.what === 'promoted' ? withoutNext(record) : record
  return { ...rest, preview: null, retired: [...retired, retire(record.preview, false)] }
}

/** Sets the version that becomes active once it is ready, and retires the one before. */
export function withNext(record: ServiceRecord, next: NonNullable<ServiceRecord['next']>): ServiceRecord {
  return { ...withoutNext(record), next }
}

/** Retires the version that was to become active, if there is one. */
export function withoutNext(record: ServiceRecord): ServiceRecord {
  if (record.next === null) return record
  return { ...record, next: null, retired: [...record.retired, retire(record.next, false)] }
}

/** Marks a candidate as failed, with the last lines of its output. */
export function withFailure(
  record: ServiceRecord,
  { slot, why, output }: { slot: CandidateSlot; why: string; output: string },
  at: number,
): ServiceRecord {
  const candidate: CandidateRecord | null = record[slot]
  if (candidate === null) return record
  const what =
    slot === 'preview' ? 'preview_failed' : `${record.next?.what === 'promoted' ? 'promote' : 'rollback'}_failed`
  return withChange({ ...record, [slot]: { ...candidate, failure: { why, output } } }, { what, by: null, at })
}

/** Appends a change to the history, which keeps the newest 50. */
export function withChange(record: ServiceRecord, change: Omit<ServiceChange, 'generation'>): ServiceRecord {
  const history = [...record.history, { ...change, generation: record.generation }].slice(-SERVICE_HISTORY_MAX)
  return { ...record, history }
}

/** A start of a version: `boxSince` is when its box started, `isFresh` resets the count of restarts. Times in ms since the epoch. */
export interface RunStart {
  slot: StartSlot
  isFresh: boolean
  boxSince: number
  port: number | null
  now: number
}

/** Adds a run, which is recorded before its process is started. */
export function withNewRun(record: ServiceRecord, { slot, isFresh, boxSince, port, now }: RunStart): ServiceRecord {
  const { spec, asked } = record
  const before: InstanceRecord | null = record[slot]
  const run: RunRecord = {
    execId: newId('exe', now),
    startedAt: now,
    logOffset: before === null ? 0 : logEnd(before, 0),
    boxSince,
    end: null,
  }
  const started = {
    port,
    runs: [...(before?.runs ?? []), run].slice(-RUNS_KEPT),
    restarts: isFresh ? 0 : (before?.restarts ?? 0) + 1,
    failures: isFresh ? 0 : (before?.failures ?? 0),
  }
  if (slot === 'active') return { ...record, active: { spec, fork: null, asked, ...started } }
  return { ...record, [slot]: { ...record[slot], ...started } }
}

/** Records the end of a run. Returns the same record unless the run is the last of a version and has no end yet. */
export function withEnd(record: ServiceRecord, execId: string, end: RunEnd): ServiceRecord {
  return mapInstances(record, (instance) => {
    const last = lastRun(instance)
    if (last?.execId !== execId || last.end !== null) return instance
    const isSteady = end.endedAt - last.startedAt >= STEADY_MS
    const runs = [...instance.runs.slice(0, -1), { ...last, end }]
    return { ...instance, runs, failures: isSteady ? 1 : instance.failures + 1 }
  })
}

/** Records that a fork has its own identity. Returns the same record if no version runs in that fork. */
export function withIdentity(record: ServiceRecord, forkId: string): ServiceRecord {
  return mapInstances(record, (instance) => {
    const { fork } = instance
    const isMeant = fork?.boxId === forkId && fork.hasIdentity !== true
    return isMeant ? { ...instance, fork: { ...fork, hasIdentity: true } } : instance
  })
}

/** Lists the runs of `before` that `after` no longer has, whose output is to be removed. */
export function droppedRuns(before: ServiceRecord, after: ServiceRecord): RunRecord[] {
  const kept = new Set(runsOf(after).map(({ execId }) => execId))
  return runsOf(before).filter(({ execId }) => !kept.has(execId))
}

function activated(
  record: ServiceRecord,
  incoming: InstanceRecord,
  { what, by, at }: SwitchOptions & { what: string },
): ServiceRecord {
  const { spec } = incoming
  const { active, asked, generation } = record
  const switched = {
    ...record,
    ...{ spec, generation: generation + 1 },
    active: { ...bareInstance(incoming), asked },
    previous: active === null ? null : { ...bareInstance(active), since: at },
  }
  return withChange(switched, { what, by, at })
}

function retirePrevious(record: ServiceRecord): ServiceRecord {
  const { previous, retired } = record
  return previous === null ? record : { ...record, retired: [...retired, retire(previous, true)] }
}

function retire(instance: InstanceRecord, drains: boolean): ServiceRecord['retired'][number] {
  return { ...bareInstance(instance), drains }
}

function bareInstance({ spec, fork, port, runs, restarts, failures }: InstanceRecord): InstanceRecord {
  return { spec, fork, port, runs, restarts, failures }
}

function endOfLog({ active }: ServiceRecord, { bytesOf }: SwitchOptions): number {
  return active === null ? 0 : logEnd(active, bytesOf(active))
}

// Returns the offset in the log at which the last run of a version ends. For a live run counts `liveBytes`.
function logEnd(instance: InstanceRecord, liveBytes: number): number {
  const last = lastRun(instance)
  return last ? last.logOffset + (last.end?.logBytes ?? liveBytes) : 0
}

// Log offsets count the bytes of all versions that were active, one after another.
function shifted<T extends InstanceRecord>(instance: T, bytes: number): T {
  return { ...instance, runs: instance.runs.map((run) => ({ ...run, logOffset: run.logOffset + bytes })) }
}

/** A run of at least this length resets the count of failures. */
const STEADY_MS = 10_000
/** Runs of each version whose output is kept. */
export const RUNS_KEPT = 4
