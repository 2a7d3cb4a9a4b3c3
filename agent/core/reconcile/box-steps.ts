import { createLimiter, type Limiter } from '../../../shared/locks.ts'
import type { Logger } from '../../../shared/log.ts'
import type { BoxExit, Runtime } from '../../ports/boxes/runtime.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { BoxRecord, Store } from '../../ports/store/store.ts'
import type { Tombstone } from '../../ports/store/tombstones.ts'
import { withDeadline } from '../common/deadline.ts'
import { failedStart, pendingRecord, settleRecord, unknownOutcome } from './box-outcome.ts'
import { openRestoration } from './box-restoration.ts'
import { boxSpecOf, checkStart } from './box-start.ts'
import { type BoxStep, type Outcome, READY, stoppedOutcome } from './plan.ts'
import type { Reaper } from './reaper.ts'
import type { StepMeter } from './step-meter.ts'

export interface BoxStepsDeps {
  store: Store
  runtime: Runtime
  filesystem: CowFilesystem
  clock: Clock
  logger: Logger
  bootId: string
  limits: { startsAtOnce: number; startDeadlineMs: number; stopSlackMs: number; pidsPerBox: number }
  reaper: Reaper
  steps: StepMeter
  /** Boxes whose init runs, as far as is known; the steps keep it so. */
  running: Set<string>
  /** How inits ended that nobody has asked to. */
  exits: Map<string, BoxExit>
  onStarted(boxId: string): void
  /** The record of the box has changed. */
  onChange(boxId: string): void
  /** The box is to be looked at again. */
  wake(boxId: string): void
  /** Destroys what a restore gives up. */
  scheduleDestroy(tombstone: Tombstone): void
}

/** Does what is planned for a box, one step at a time, and records what came of it. */
export class BoxSteps {
  readonly #deps: BoxStepsDeps
  readonly #stops = new Map<string, AbortController>()
  readonly #starts: Limiter

  constructor(deps: BoxStepsDeps) {
    this.#deps = deps
    this.#starts = createLimiter(deps.limits.startsAtOnce)
  }

  /** A stop under way no longer waits out its grace. */
  hurry(boxId: string): void {
    this.#stops.get(boxId)?.abort()
  }

  /** Does a step. Rejects if the box must be tried again later. */
  async act(record: BoxRecord, step: BoxStep): Promise<void> {
    return this.#deps.steps.run(step.kind, () => this.#do(record, step))
  }

  /** Whether the step came about. */
  async #do(record: BoxRecord, step: BoxStep): Promise<boolean> {
    switch (step.kind) {
      case 'start':
        return this.#attempt(record, () => this.#starts.run(() => this.#start(record)), failedStart(record))
      case 'stop':
        return this.#attempt(
          record,
          () => this.#stop(record, step.graceMs),
          () => stoppedOutcome(record),
        )
      case 'reap': {
        const { outcome } = step
        return this.#attempt(
          record,
          () => this.#reap(record, outcome),
          () => outcome,
        )
      }
      case 'settle':
        await this.#settle(record, step.outcome)
        return true
      case 'halt':
        return this.#attempt(
          record,
          () => this.#halt(record, step.graceMs),
          () => null,
        )
      case 'restore':
        return this.#restore(record)
      case 'none':
        return true
    }
  }

  // What fails is cleared away at once; where even that fails the box is `unknown`, and tried again later.
  async #attempt(
    record: BoxRecord,
    work: () => Promise<void>,
    onFailure: (error: unknown) => Outcome | null,
  ): Promise<boolean> {
    const { store, logger } = this.#deps
    try {
      await work()
      return true
    } catch (error) {
      logger.error('box step failed', { box: record.id, error })
      try {
        await this.#end(record.id, { graceMs: 0 })
      } catch (cause) {
        if (record.observed.status !== 'unknown') await this.#settle(record, unknownOutcome(record))
        throw cause
      }
      this.#deps.running.delete(record.id)
      // Whoever wished for something else meanwhile is not overruled by this failure: the next turn sees that wish.
      const latest = await store.boxes.byId(record.id)
      if (latest?.desired.generation !== record.desired.generation) return false
      const outcome = onFailure(error)
      if (outcome === null) return false
      await this.#settle(latest, outcome)
      if (outcome.status === 'unknown') throw error
      return false
    }
  }

  #end(boxId: string, how: { graceMs: number; signal?: AbortSignal }): Promise<void> {
    const { runtime, clock, limits } = this.#deps
    return withDeadline(runtime.stop(boxId, how), {
      ms: how.graceMs + limits.stopSlackMs,
      what: 'The box did not end',
      clock,
      // There is no news of an end that was asked for.
      onLate: () => {
        this.#deps.running.delete(boxId)
        this.#deps.wake(boxId)
      },
    })
  }

  async #start(record: BoxRecord): Promise<void> {
    const { store, clock } = this.#deps
    // It may have waited long for its turn.
    if ((await store.boxes.byId(record.id))?.version !== record.version) return
    let current = record
    if (record.observed.status !== 'pending') {
      current = pendingRecord(record, 'starting', clock.now())
      if (!(await store.boxes.replace(current))) return
      this.#deps.onChange(record.id)
    }
    await this.#launch(current)
    await this.#settle(current, READY)
  }

  async #launch(record: BoxRecord): Promise<void> {
    const { clock, runtime, filesystem, limits, reaper } = this.#deps
    this.#deps.exits.delete(record.id)
    await checkStart({ filesystem, reaper, waitMs: limits.stopSlackMs }, record)
    await withDeadline(runtime.start(boxSpecOf(record, filesystem, limits.pidsPerBox)), {
      ms: limits.startDeadlineMs,
      what: 'The box did not start',
      clock,
      onLate: () => {
        this.#noteStarted(record.id)
        this.#deps.wake(record.id)
      },
    })
    this.#noteStarted(record.id)
    this.#deps.onStarted(record.id)
  }

  // The news of its end may have come before that of its start.
  #noteStarted(boxId: string): void {
    if (!this.#deps.exits.has(boxId)) this.#deps.running.add(boxId)
  }

  async #stop(record: BoxRecord, graceMs: number): Promise<void> {
    await this.#halt(record, graceMs)
    await this.#settle(record, stoppedOutcome(record))
  }

  async #halt(record: BoxRecord, graceMs: number): Promise<void> {
    const controller = new AbortController()
    this.#stops.set(record.id, controller)
    try {
      await this.#end(record.id, { graceMs, signal: controller.signal })
      this.#deps.running.delete(record.id)
      this.#deps.exits.delete(record.id)
    } finally {
      this.#stops.delete(record.id)
    }
  }

  // What cannot be started with what it was to have is ended again, and goes on with what it had.
  async #restore(record: BoxRecord): Promise<boolean> {
    const { running } = this.#deps
    const restoration = await openRestoration({ ...this.#deps, reconciler: this.#deps }, record)
    try {
      await restoration.seal()
      // Deleted meanwhile, its start would wait for its own end to free what it is given.
      if (await restoration.isOver()) return true
      const isWanted = record.desired.power === 'running'
      if (isWanted) await this.#starts.run(() => this.#launch(restoration.restored))
      await restoration.commit({ isRunning: running.has(record.id) })
      return true
    } catch (error) {
      this.#deps.logger.error('a restore failed', { box: record.id, error })
      // What is in the record by now has come about, whatever failed after that.
      if (await restoration.isOver()) return true
      await this.#end(record.id, { graceMs: 0 })
      running.delete(record.id)
      await restoration.undo(error)
      return false
    } finally {
      this.#deps.onChange(record.id)
    }
  }

  async #reap(record: BoxRecord, outcome: Outcome): Promise<void> {
    await this.#end(record.id, { graceMs: 0 })
    this.#deps.exits.delete(record.id)
    await this.#settle(record, outcome)
  }

  // A lost compare-and-set is no fault: somebody wants something else by now, and the next turn sees it.
  async #settle(record: BoxRecord, outcome: Outcome): Promise<void> {
    const { store, clock, bootId } = this.#deps
    const isStored = await store.boxes.replace(settleRecord(record, outcome, { now: clock.now(), bootId }))
    if (isStored) this.#deps.onChange(record.id)
  }
}
