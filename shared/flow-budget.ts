import { availableParallelism } from 'node:os'
import { createRecentProjects } from './project-turns.ts'

/** The total rate, as bytes per round of the event loop, or per second. */
export type FlowPace = { bytesPerRound: number } | { bytesPerSecond: number }

/** The bytes that can flow now. */
export interface FlowBudget {
  hasRoom(): boolean
  /** Takes bytes for a project, even more than are left. A negative number returns them. */
  spend(sizeBytes: number, project: string): void
  /** Requests a callback once bytes can flow. */
  wake(): void
  /** Calls `next` once the current turn has done everything that it can do without waiting. */
  afterTurn(next: () => void): void
  /** Notes that a project uses the event loop for something other than bytes. */
  note(project: string): void
}

export interface FlowBudgetOptions {
  clock: { now(): number }
  onRoom(): void
}

/** Creates the budget of a pace. */
export function createFlowBudget(pace: FlowPace, options: FlowBudgetOptions): FlowBudget {
  return 'bytesPerRound' in pace
    ? new RoundBudget(pace.bytesPerRound, options)
    : new TimeBudget(pace.bytesPerSecond, options)
}

/**
 * Allows bytes in each round of the event loop: `bytesPerRound`, or what takes `ROUND_MS`, whichever comes first. While another project
 * uses the loop for something else, a rest follows each round. Bytes then take at most an eighth of the loop, or a sixteenth on two CPUs.
 * Counts rounds only while something flows.
 */
class RoundBudget implements FlowBudget {
  readonly #bytesPerRound: number
  readonly #options: FlowBudgetOptions
  readonly #present = createRecentProjects(PRESENT_MS)
  #leftBytes: number
  #usedBytes = 0
  #workMs = 0
  /** Remaining rest in milliseconds. */
  #dueMs = 0
  #isContended = false
  #isCounting = false
  #isResting = false
  #isAwaited = false

  constructor(bytesPerRound: number, options: FlowBudgetOptions) {
    this.#bytesPerRound = bytesPerRound
    this.#leftBytes = bytesPerRound
    this.#options = options
  }

  hasRoom(): boolean {
    return !this.#isResting && this.#leftBytes > 0 && this.#workMs < ROUND_MS
  }

  spend(sizeBytes: number, project: string): void {
    this.#leftBytes -= sizeBytes
    if (sizeBytes > 0) {
      this.#usedBytes += sizeBytes
      this.#isContended ||= this.#present.others(project) > 0
    }
    this.#count()
  }

  wake(): void {
    this.#isAwaited = true
    this.#count()
  }

  afterTurn(next: () => void): void {
    const { clock } = this.#options
    const begunAt = clock.now()
    // A tick from a microtask runs after all microtasks, and so after the turn's work before its first wait.
    queueMicrotask(() =>
      process.nextTick(() => {
        this.#workMs += clock.now() - begunAt
        next()
      }),
    )
  }

  note(project: string): void {
    this.#present.note(project)
  }

  #count(): void {
    if (this.#isCounting) return
    this.#isCounting = true
    setImmediate(() => this.#endRound())
  }

  #endRound(): void {
    const costMs = Math.max(this.#workMs, this.#usedBytes / BYTES_PER_MS)
    this.#dueMs = this.#isContended ? this.#dueMs + REST * costMs : 0
    this.#usedBytes = this.#workMs = 0
    this.#isContended = false
    if (this.#dueMs < 1) return this.#beginRound()
    const restMs = Math.min(REST_MAX_MS, this.#dueMs)
    this.#dueMs = 0
    this.#isResting = true
    setTimeout(() => this.#beginRound(), restMs)
  }

  #beginRound(): void {
    this.#isResting = this.#isCounting = false
    this.#leftBytes = Math.min(this.#bytesPerRound, this.#leftBytes + this.#bytesPerRound)
    if (this.#leftBytes < this.#bytesPerRound) this.#count()
    if (!this.#isAwaited || this.#leftBytes <= 0) return
    this.#isAwaited = false
    this.#options.onRoom()
  }
}

/** Limits bytes over time. */
class TimeBudget implements FlowBudget {
  readonly #bytesPerSecond: number
  readonly #options: FlowBudgetOptions
  #leftBytes: number
  #at: number
  #timer: NodeJS.Timeout | undefined

  constructor(bytesPerSecond: number, options: FlowBudgetOptions) {
    this.#bytesPerSecond = bytesPerSecond
    this.#leftBytes = this.#most()
    this.#at = options.clock.now()
    this.#options = options
  }

  hasRoom(): boolean {
    const now = this.#options.clock.now()
    const came = (Math.max(0, now - this.#at) / 1000) * this.#bytesPerSecond
    this.#leftBytes = Math.min(this.#most(), this.#leftBytes + came)
    this.#at = now
    return this.#leftBytes > 0
  }

  spend(sizeBytes: number): void {
    this.#leftBytes -= sizeBytes
  }

  wake(): void {
    const waitMs = Math.max(LOOK_MS, Math.ceil((-this.#leftBytes * 1000) / this.#bytesPerSecond))
    this.#timer ??= setTimeout(() => this.#look(), waitMs).unref()
  }

  afterTurn(next: () => void): void {
    next()
  }

  note(): void {
    // Time passes whether or not others are present.
  }

  #look(): void {
    this.#timer = undefined
    if (this.hasRoom()) this.#options.onRoom()
    else this.wake()
  }

  #most(): number {
    return (this.#bytesPerSecond * KEPT_MS) / 1000
  }
}

/** Milliseconds that bytes may take of a round of the event loop. The current turn may exceed it. */
export const ROUND_MS = 1
/** Bytes that pass in a millisecond of the loop, including V8's later garbage collection. Measured for WebSockets, which cost most. */
export const BYTES_PER_MS = 512 * 1024
/**
 * Length of a rest, as a multiple of the round before it. Bytes get about 64 MB/s while others send requests. On two CPUs they get half of
 * that, because front, agent and the commands of boxes compete for these as well.
 */
export const REST = availableParallelism() <= 2 ? 15 : 7
/** Also applies if a single turn took long. */
const REST_MAX_MS = 100
/** How long a project counts as present after its request. Longer than most commands take. */
const PRESENT_MS = 250
/** How long an unused budget grows. */
const KEPT_MS = 20
const LOOK_MS = 4
