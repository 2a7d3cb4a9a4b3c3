import type { DiskBounds } from '../../ports/boxes/limits.ts'
import type { DiskCounters } from '../host/cgroup/disk-io.ts'

/** How much of its limits a box has left, expressed in seconds of them. It is at most 1. Below 0, it is the excess, up to 10. */
export interface DiskBudget {
  bytes: number
  operations: number
}

/** Returns the same budget, in seconds, for both limits. Pure. */
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

/** Returns the seconds that a box has left by all its limits. Pure. */
export function leftOf({ bytes, operations }: DiskBudget): number {
  return Math.min(bytes, operations)
}

function levelAfter(level: number, used: number, perSecond: number | null): number {
  return perSecond === null ? BURST_SECONDS : Math.max(-DEBT_SECONDS, Math.min(BURST_SECONDS, level) - used / perSecond)
}

const BURST_SECONDS = 1
const DEBT_SECONDS = 10
