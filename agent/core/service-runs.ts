import { newId } from '../../shared/ids.ts'
import type { InstanceRecord, RunEnd, RunRecord, ServiceRecord } from '../ports/service-store.ts'

/** The record of a service that is being started: its run is written before anything of it is. A pure function, but for the id. */
export function withNewRun(
  record: ServiceRecord,
  how: { isFresh: boolean; boxSince: number; now: number },
): ServiceRecord {
  const { isFresh, boxSince, now } = how
  const { active, spec, generation, asked } = record
  const run: RunRecord = {
    execId: newId('exe', now),
    startedAt: now,
    logOffset: logEnd(active),
    boxSince,
    end: null,
  }
  const runs = [...(active?.runs ?? []), run].slice(-RUNS_KEPT)
  const counts = isFresh
    ? { restarts: 0, failures: 0 }
    : { restarts: (active?.restarts ?? 0) + 1, failures: active?.failures ?? 0 }
  return { ...record, active: { generation, spec, asked, runs, ...counts } }
}

/** The record with the end of its last run. A pure function. */
export function withEnd(record: ServiceRecord, execId: string, end: RunEnd): ServiceRecord {
  const { active } = record
  const last = active?.runs.at(-1)
  if (!active || last?.execId !== execId || last.end !== null) return record
  const runs = [...active.runs.slice(0, -1), { ...last, end }]
  const isSteady = end.endedAt - last.startedAt >= STEADY_MS
  return { ...record, active: { ...active, runs, failures: isSteady ? 1 : active.failures + 1 } }
}

/** Runs of `before` that `after` no longer has: what they wrote is not kept. */
export function droppedRuns(before: ServiceRecord, after: ServiceRecord | null): RunRecord[] {
  const kept = new Set(after?.active?.runs.map(({ execId }) => execId))
  return (before.active?.runs ?? []).filter(({ execId }) => !kept.has(execId))
}

/** Bytes of the log up to the end of the last run. */
function logEnd(instance: InstanceRecord | null): number {
  const last = instance?.runs.at(-1)
  return last ? last.logOffset + (last.end?.logBytes ?? 0) : 0
}

/** After that long the next end is the first again. */
const STEADY_MS = 10_000

/** Runs whose output is kept, for each service. */
export const RUNS_KEPT = 4
