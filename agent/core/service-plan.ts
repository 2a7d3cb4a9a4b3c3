import type { RunEnd, ServiceRecord, ServiceSpec } from '../ports/service-store.ts'

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

/** The next step of a service. A pure function, tested as a table. */
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

/** Whether a service is started again after such an end, for as long as it is wanted. */
export function isRestarted({ restart }: ServiceSpec, end: RunEnd): boolean {
  return restart === 'always' || (restart === 'on-failure' && end.exitCode !== 0)
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

const BACK_OFF_MS = 250
const BACK_OFF_MAX_MS = 60_000
