/** What is known of the use of a box that is to stop when nobody uses it. Times in ms, moments since the epoch. */
export interface IdleFacts {
  /** For how long nobody is to have used it. */
  idleStopMs: number
  /** When it was last seen in use; at the earliest when it started, or when this agent first looked. */
  usedAt: number
  isInUse: boolean
  /** Until when somebody keeps it awake, or did; null: nobody ever. */
  leaseUntil: number | null
}

/** It stops now, or cannot be due before so many ms. */
export type IdlePlan = { kind: 'stop' } | { kind: 'wait'; ms: number }

/** Decides whether a box has been without use for long enough; a lease counts as use. Pure. */
export function planIdle({ idleStopMs, usedAt, isInUse, leaseUntil }: IdleFacts, now: number): IdlePlan {
  const lastUse = isInUse ? now : usedAt
  const dueAt = Math.max(lastUse, leaseUntil ?? 0) + idleStopMs
  return dueAt <= now ? { kind: 'stop' } : { kind: 'wait', ms: dueAt - now }
}
