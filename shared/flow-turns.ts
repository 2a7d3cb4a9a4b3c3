import { createBuckets } from './buckets.ts'
import { createRotation, type FlowOwner } from './rotation.ts'
import type { Valve } from './valve.ts'

/**
 * Lets streams flow by turns of their owners: projects take turns, the boxes of each, and the streams of each box. However much some
 * bring, and in however many streams, the others wait for no more than one turn of each project.
 */
export interface FlowTurns {
  /** Adds a stream, which flows until it has used up what its project may have at once. */
  open(owner: FlowOwner, valve: Pick<Valve, 'hold' | 'release'>): Flow
}

/** One stream. */
export interface Flow {
  /** Counts a piece that came; holds the stream if it has to wait for a turn. */
  count(sizeBytes: number): void
  /** Lets so much through at once, whoever waits; the others wait for what comes. */
  hurry(sizeBytes: number): void
  /** Call once it has ended: gives back the rest of its turn. */
  close(): void
}

/** How much flows in all: bytes in each round of the event loop, or in each second. */
export type FlowPace = { bytesPerRound: number } | { bytesPerSecond: number }

export interface FlowTurnsOptions {
  pace: FlowPace
  /** What a project may bring at once without a turn, and how much of that comes back each second; in bytes. */
  allowance: { burst: number; perSecond: number }
  /** In milliseconds. Default: the time of this process. */
  clock?: { now(): number }
}

/** Creates turns. A piece counts as 16 KiB more than it is long, for what handling even a byte costs. */
export function createFlowTurns({ pace, allowance, clock = performance }: FlowTurnsOptions): FlowTurns {
  const allowances = createBuckets({ ...allowance, clock })
  const waiting = createRotation<Turn>()
  const budget = createBudget(pace, clock, () => {
    while (budget.hasRoom()) {
      const next = waiting.take()
      if (next === undefined) return
      budget.spend(TURN_BYTES)
      next.begin(TURN_BYTES)
    }
    budget.wake()
  })
  return {
    open: (owner, valve) => {
      let grantedBytes = 0
      let hurriedBytes = 0
      let isWaiting = false
      const turn: Turn = {
        owner,
        begin: (sizeBytes) => {
          isWaiting = false
          grantedBytes += sizeBytes
          valve.release('turn')
        },
      }
      const mayGoOn = (cost: number): boolean => {
        if (hurriedBytes > 0) {
          hurriedBytes -= cost
          budget.spend(cost)
          return true
        }
        const unpaid = cost - grantedBytes
        grantedBytes = Math.max(0, -unpaid)
        if (unpaid <= 0) return true
        if (allowances.waitOf(owner.project) === null) {
          allowances.take(owner.project, unpaid)
          return true
        }
        const isFree = waiting.size === 0 && budget.hasRoom()
        budget.spend(unpaid)
        return isFree
      }
      return {
        count: (sizeBytes) => {
          if (mayGoOn(sizeBytes + PIECE_BYTES) || isWaiting) return
          isWaiting = true
          valve.hold('turn')
          waiting.add(turn)
          budget.wake()
        },
        hurry: (sizeBytes) => {
          hurriedBytes = sizeBytes
          waiting.remove(turn)
          turn.begin(0)
        },
        close: () => {
          waiting.remove(turn)
          budget.spend(-grantedBytes)
          grantedBytes = 0
        },
      }
    },
  }
}

/** What flows in a round of the event loop to those who read: takes some half a millisecond. */
export const ROUND_BYTES = 512 * 1024

/** Creates turns of streams that somebody reads: as fast as that goes, by so much in a round of the event loop. */
export function createReadTurns(): FlowTurns {
  return createFlowTurns({
    pace: { bytesPerRound: ROUND_BYTES },
    allowance: { burst: ROUND_BYTES, perSecond: ROUND_BYTES },
  })
}

interface Turn {
  owner: FlowOwner
  begin(sizeBytes: number): void
}

/** What may flow now. */
interface Budget {
  hasRoom(): boolean
  /** Takes bytes, also beyond what there is; negative ones come back. */
  spend(sizeBytes: number): void
  /** Calls back once there is room. */
  wake(): void
}

function createBudget(pace: FlowPace, clock: { now(): number }, onRoom: () => void): Budget {
  return 'bytesPerRound' in pace
    ? roundBudget(pace.bytesPerRound, onRoom)
    : timeBudget(pace.bytesPerSecond, { clock, onRoom })
}

// Counts rounds only while something flows.
function roundBudget(bytesPerRound: number, onRoom: () => void): Budget {
  let left = bytesPerRound
  let isCounting = false
  let isAwaited = false
  const beginRound = (): void => {
    isCounting = false
    left = Math.min(bytesPerRound, left + bytesPerRound)
    if (left < bytesPerRound) count()
    if (!isAwaited || left <= 0) return
    isAwaited = false
    onRoom()
  }
  const count = (): void => {
    if (isCounting) return
    isCounting = true
    setImmediate(beginRound)
  }
  return {
    hasRoom: () => left > 0,
    spend: (sizeBytes) => {
      left -= sizeBytes
      count()
    },
    wake: () => {
      isAwaited = true
      count()
    },
  }
}

function timeBudget(
  bytesPerSecond: number,
  { clock, onRoom }: { clock: { now(): number }; onRoom: () => void },
): Budget {
  const most = (bytesPerSecond * KEPT_MS) / 1000
  let left = most
  let at = clock.now()
  let timer: NodeJS.Timeout | undefined
  const refill = (): void => {
    const now = clock.now()
    left = Math.min(most, left + (Math.max(0, now - at) / 1000) * bytesPerSecond)
    at = now
  }
  const look = (): void => {
    timer = undefined
    refill()
    if (left > 0) onRoom()
    else wake()
  }
  const wake = (): void => {
    timer ??= setTimeout(look, Math.max(LOOK_MS, Math.ceil((-left * 1000) / bytesPerSecond))).unref()
  }
  return {
    hasRoom: () => {
      refill()
      return left > 0
    },
    spend: (sizeBytes) => {
      left -= sizeBytes
    },
    wake,
  }
}

const PIECE_BYTES = 16 * 1024
const TURN_BYTES = 256 * 1024
/** For how long a budget that nobody uses grows. */
const KEPT_MS = 20
const LOOK_MS = 4
