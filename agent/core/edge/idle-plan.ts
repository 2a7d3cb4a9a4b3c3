/** Observed use of a box with `idle_stop_seconds`. Durations in ms, times in ms since the epoch. */
export interface IdleFacts {
  /** Idle time after which it stops. */
  idleStopMs: number
  /** Time of the last use; initially the start of the box, or the first poll of this agent. */
  usedAt: number
  isInUse: boolean
  /** End of its lease, which may be past; null: never had one. */
  leaseUntil: number | null
}

/** Stop now, or check again in `ms` at the earliest. */
export type IdlePlan = { kind: 'stop' } | { kind: 'wait'; ms: number }

/** Decides whether a box has been idle for long enough; a lease counts as use. Pure. */
export function planIdle({ idleStopMs, usedAt, isInUse, leaseUntil }: IdleFacts, now: number): IdlePlan {
  const lastUse = isInUse ? now : usedAt
  const dueAt = Math.max(lastUse, leaseUntil ?? 0) + idleStopMs
  return dueAt <= now ? { kind: 'stop' } : { kind: 'wait', ms: dueAt - now }
}
