import type { DiskBounds } from '../../ports/boxes/limits.ts'
import type { DiskCounters } from '../host/cgroup/disk-io.ts'

/** How much of its bounds a box has left, in seconds of them: at most 1, and below 0 what it has taken too much, up to 10. */
export interface DiskBudget {
  bytes: number
  operations: number
}

/** Returns the same budget, in seconds, by both bounds. Pure. */
export function budgetOf(seconds: number): DiskBudget {
  return { bytes: seconds, operations: seconds }
}

/** Returns the budget after `seconds` in which the box has taken `used`. Pure. */
export function budgetAfter(
  before: DiskBudget,
  { used, seconds, bounds }: { used: DiskCounters; seconds: number; bounds: DiskBounds },
): DiskBudget {
  const { diskMbps, diskIops } = bounds
  return {
    bytes: levelAfter(before.bytes + seconds, used.bytes, diskMbps === null ? null : diskMbps * 1e6),
    operations: levelAfter(before.operations + seconds, used.operations, diskIops),
  }
}

/** Returns the seconds that a box has left by all its bounds. Pure. */
export function leftOf({ bytes, operations }: DiskBudget): number {
  return Math.min(bytes, operations)
}

function levelAfter(level: number, used: number, perSecond: number | null): number {
  return perSecond === null ? BURST_SECONDS : Math.max(-DEBT_SECONDS, Math.min(BURST_SECONDS, level) - used / perSecond)
}

const BURST_SECONDS = 1
const DEBT_SECONDS = 10
