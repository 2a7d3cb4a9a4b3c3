import { type Buckets, createBuckets } from './buckets.ts'
import { createFlowBudget, type FlowBudget, type FlowPace } from './flow-budget.ts'
import { createRotation, type FlowOwner, type Rotation } from './rotation.ts'
import type { Valve } from './valve.ts'

/**
 * A fair queue of streams by owner. Projects take turns, then the boxes of each, then the streams of each box. No matter how much data and
 * how many streams a project has, the others wait for at most one turn of each project.
 */
export interface FlowTurns {
  /** Adds a stream. It flows freely until its project has used up its allowance. */
  open(owner: FlowOwner, valve: Pick<Valve, 'hold' | 'release'>): Flow
  /**
   * Notes that a project uses the event loop for something other than bytes. For a quarter of a second the bytes of other projects then
   * leave it most of the event loop.
   */
  note(project: string): void
}

/** One stream. */
export interface Flow {
  /** Counts a piece that arrived. Holds the stream if it must wait for a turn. */
  count(sizeBytes: number): void
  /** Requests a piece that has not been read yet. Holds the stream if it must wait for a turn, which then pays for the piece. */
  ask(sizeBytes: number): void
  /** Lets this many bytes through at once, even if others wait. The others then wait longer. */
  hurry(sizeBytes: number): void
  /** Call it at the end of the stream. Returns the rest of its turn. */
  close(): void
}

/** Opens one stream, whose flow control holds and releases it. */
export type OpenFlow = (valve: Pick<Valve, 'hold' | 'release'>) => Flow

export interface FlowTurnsOptions {
  pace: FlowPace
  /** Bytes that a project can send at once without a turn, and how many of them return each second. */
  allowance: { burst: number; perSecond: number }
  /** In milliseconds. Default: the time of this process. */
  clock?: { now(): number }
}

/** Creates a fair queue. A piece counts as 16 KiB more than its length, because handling even a byte has that cost. */
export function createFlowTurns({ pace, allowance, clock = performance }: FlowTurnsOptions): FlowTurns {
  const allowances = createBuckets({ ...allowance, clock })
  const waiting = createRotation<Turn>()
  let isServing = false
  const serve = (): void => {
    if (isServing) return
    const next = budget.hasRoom() ? waiting.take() : undefined
    if (next === undefined) {
      if (waiting.size > 0) budget.wake()
      return
    }
    isServing = true
    budget.spend(TURN_BYTES, next.owner.project)
    try {
      next.begin(TURN_BYTES)
    } finally {
      budget.afterTurn(() => {
        isServing = false
        serve()
      })
    }
  }
  const budget = createFlowBudget(pace, { clock, onRoom: serve })
  const parts = { allowances, waiting, budget }
  return {
    note: (project) => budget.note(project),
    open: (owner, valve) => new TurnFlow(parts, owner, valve),
  }
}

/** Parts that the streams of one fair queue share. */
interface FlowParts {
  allowances: Buckets
  waiting: Rotation<Turn>
  budget: FlowBudget
}

class TurnFlow implements Flow, Turn {
  readonly owner: FlowOwner
  readonly #parts: FlowParts
  readonly #valve: Pick<Valve, 'hold' | 'release'>
  /** Bytes left of its turns. */
  #grantedBytes = 0
  /** Bytes that it has requested and its turn will pay for. */
  #askedBytes = 0
  #hurriedBytes = 0
  #isWaiting = false
  // Callers pass it on unbound.
  readonly close = (): void => {
    this.#parts.waiting.remove(this)
    this.#parts.budget.spend(-this.#grantedBytes, this.owner.project)
    this.#grantedBytes = this.#askedBytes = 0
  }

  constructor(parts: FlowParts, owner: FlowOwner, valve: Pick<Valve, 'hold' | 'release'>) {
    this.#parts = parts
    this.owner = owner
    this.#valve = valve
  }

  count(sizeBytes: number): void {
    const unpaid = this.#unpaidOf(sizeBytes + PIECE_BYTES)
    if (unpaid === 0) return
    const isFree = this.#isFree()
    this.#parts.budget.spend(unpaid, this.owner.project)
    if (!isFree && !this.#isWaiting) this.#wait()
  }

  ask(sizeBytes: number): void {
    const unpaid = this.#unpaidOf(sizeBytes + PIECE_BYTES)
    if (unpaid === 0) return
    if (this.#isFree()) return this.#parts.budget.spend(unpaid, this.owner.project)
    this.#askedBytes = unpaid
    this.#wait()
  }

  hurry(sizeBytes: number): void {
    this.#hurriedBytes = sizeBytes
    this.#parts.waiting.remove(this)
    this.begin(0)
  }

  begin(sizeBytes: number): void {
    this.#isWaiting = false
    const left = this.#grantedBytes + sizeBytes - this.#askedBytes
    this.#grantedBytes = Math.max(0, left)
    this.#askedBytes = 0
    if (left < 0) this.#parts.budget.spend(-left, this.owner.project)
    this.#valve.release('turn')
  }

  #wait(): void {
    this.#isWaiting = true
    this.#valve.hold('turn')
    this.#parts.waiting.add(this)
    this.#parts.budget.wake()
  }

  #isFree(): boolean {
    return this.#parts.waiting.size === 0 && this.#parts.budget.hasRoom()
  }

  /** Pays with the rest of its turns, or with the project's allowance. Returns the unpaid rest. */
  #unpaidOf(cost: number): number {
    const { allowances, budget } = this.#parts
    const { project } = this.owner
    if (this.#hurriedBytes > 0) {
      this.#hurriedBytes -= cost
      budget.spend(cost, project)
      return 0
    }
    const unpaid = Math.max(0, cost - this.#grantedBytes)
    this.#grantedBytes = Math.max(0, this.#grantedBytes - cost)
    if (unpaid === 0 || allowances.waitOf(project) !== null) return unpaid
    allowances.take(project, unpaid)
    return 0
  }
}

/** Bytes that flow in a round of the event loop. Takes about half a millisecond. */
export const ROUND_BYTES = 512 * 1024

/** Creates the fair queue of an event loop, in which bytes flow as fast as the loop allows, by a fixed amount per round. */
export function createLoopTurns(): FlowTurns {
  return createFlowTurns({
    pace: { bytesPerRound: ROUND_BYTES },
    allowance: { burst: ROUND_BYTES, perSecond: ROUND_BYTES },
  })
}

/**
 * The fair queue of this process's event loop, for bytes of every kind: read, sent, uploaded, packed, backed up, or passing a WebSocket.
 * There is one loop, so there is one of these.
 */
export const LOOP_TURNS: FlowTurns = createLoopTurns()

/** Returns a function that opens an owner's streams in the fair queue of this process's event loop. */
export function inLoopTurns(owner: FlowOwner): OpenFlow {
  return (valve) => LOOP_TURNS.open(owner, valve)
}

/** Opens a stream that takes no turns, such as a stream of events. */
export const openFree: OpenFlow = () => FREE
const FREE: Flow = { count: () => undefined, ask: () => undefined, hurry: () => undefined, close: () => undefined }

interface Turn {
  owner: FlowOwner
  begin(sizeBytes: number): void
}

const PIECE_BYTES = 16 * 1024
/** The longest piece that a turn covers. Pulling cuts longer ones. */
export const TURN_BYTES = 256 * 1024
