import { newId } from '../../../shared/ids.ts'
import type { InstanceRecord, RunEnd, RunRecord, ServiceRecord } from '../../ports/store/services.ts'
import { lastRun, mapInstances, runsOf } from '../common/service-instances.ts'
import type { StartSlot } from './ports.ts'

/** How a version of a service is started. */
export interface StartHow {
  slot: StartSlot
  isFresh: boolean
  boxSince: number
  port: number | null
  now: number
}

/** The record of a service that is being started: its run is written before anything of it is. A pure function, but for the id. */
export function withNewRun(record: ServiceRecord, how: StartHow): ServiceRecord {
  const { slot, isFresh, boxSince, port, now } = how
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

/** The record with the end of a run; the same record if that is not the last of a version, or has its end. A pure function. */
export function withEnd(record: ServiceRecord, execId: string, end: RunEnd): ServiceRecord {
  return mapInstances(record, (instance) => {
    const last = lastRun(instance)
    if (last?.execId !== execId || last.end !== null) return instance
    const isSteady = end.endedAt - last.startedAt >= STEADY_MS
    const runs = [...instance.runs.slice(0, -1), { ...last, end }]
    return { ...instance, runs, failures: isSteady ? 1 : instance.failures + 1 }
  })
}

/** Runs of `before` that `after` no longer has: what they wrote is not kept. */
export function droppedRuns(before: ServiceRecord, after: ServiceRecord): RunRecord[] {
  const kept = new Set(runsOf(after).map(({ execId }) => execId))
  return runsOf(before).filter(({ execId }) => !kept.has(execId))
}

/** Bytes of the log of a version up to the end of its last run, of which `liveBytes` are counted if it goes on. */
export function logEnd(instance: InstanceRecord, liveBytes: number): number {
  const last = lastRun(instance)
  return last ? last.logOffset + (last.end?.logBytes ?? liveBytes) : 0
}

/** After that long the next end is the first again. */
const STEADY_MS = 10_000

/** Runs whose output is kept, for each version of a service. */
export const RUNS_KEPT = 4
