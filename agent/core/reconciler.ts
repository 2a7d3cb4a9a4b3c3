import { createLimiter, type Limiter } from '../../shared/locks.ts'
import type { Logger } from '../../shared/log.ts'
import type { Clock } from '../ports/clock.ts'
import type { CowFilesystem } from '../ports/cow-filesystem.ts'
import type { BoxExit, Runtime } from '../ports/runtime.ts'
import type { BoxRecord, Store } from '../ports/store.ts'
import type { Tombstone } from '../ports/tombstone.ts'
import { failedStart, pendingRecord, settleRecord, unknownOutcome } from './box-outcome.ts'
import { boxSpecOf, checkStart } from './box-start.ts'
import { restoreBoxes, verifyBox } from './box-verify.ts'
import { withDeadline } from './deadline.ts'
import { createKeyedQueue, type KeyedQueue } from './keyed-queue.ts'
import { type BoxStep, type BoxWorld, type Outcome, planBox, READY, STOPPED } from './plan.ts'
import { createGraves, type Graves, type GravesDeps } from './tombstones.ts'
import { createWaiters, type Waiters } from './waiters.ts'

export interface ReconcilerDeps {
  store: Store
  runtime: Runtime
  filesystem: CowFilesystem
  outputs: GravesDeps['outputs']
  clock: Clock
  logger: Logger
  /** Of the running kernel. */
  bootId: string
  limits: { startsAtOnce: number; startDeadlineMs: number; stopSlackMs: number; pidsPerBox: number }
}

/**
 * Moves boxes towards what is wanted of them: observe → plan → act, one box at a time, whoever asked.
 * A fast path of a request is this same code, waited for.
 */
export class Reconciler {
  readonly #deps: ReconcilerDeps
  readonly #running = new Set<string>()
  readonly #exits = new Map<string, BoxExit>()
  readonly #stops = new Map<string, AbortController>()
  readonly #failures = new Map<string, number>()
  /** Running boxes whose mounts and limits may differ from their records. */
  readonly #unverified = new Set<string>()
  readonly #waiters: Waiters = createWaiters()
  readonly #graves: Graves
  readonly #starts: Limiter
  readonly #queue: KeyedQueue

  constructor(deps: ReconcilerDeps) {
    this.#deps = deps
    this.#graves = createGraves(deps)
    this.#starts = createLimiter(deps.limits.startsAtOnce)
    this.#queue = createKeyedQueue({
      work: (boxId) => this.#reconcile(boxId),
      onError: (boxId, error) => this.#retryLater(boxId, error),
    })
  }

  /** Takes up every box and tombstone as the last process left them; call once, after the runtime is open. */
  async recover(): Promise<void> {
    const { runtime, store } = this.#deps
    for (const box of await runtime.list()) if (box.isRunning) this.#running.add(box.id)
    runtime.onExit((exit) => {
      this.#running.delete(exit.id)
      this.#exits.set(exit.id, exit)
      this.#queue.add(exit.id)
    })
    for (const tombstone of await store.tombstones.all()) {
      const mounts = this.#running.has(tombstone.id) ? await runtime.mounts(tombstone.id) : []
      this.bury(
        tombstone,
        mounts.map(({ source }) => source),
      )
    }
    for (const boxId of await restoreBoxes(this.#deps, this.#running)) this.#unverified.add(boxId)
    for (const record of await store.boxes.all()) this.#queue.add(record.id)
    for (const boxId of this.#running) this.#queue.add(boxId)
  }

  /** A box's record has changed; a stop under way no longer waits out its grace. */
  wake(boxId: string): void {
    this.#stops.get(boxId)?.abort()
    this.#queue.add(boxId)
  }

  /**
   * Runs `work` while no other step of the box is under way, or begins; it learns whether the box runs.
   * @throws ServiceError `box_busy` if that is not possible within `waitMs`, `internal` if it takes longer than any step may
   */
  exclusive<T>(boxId: string, work: (isRunning: boolean) => Promise<T>, waitMs: number): Promise<T> {
    const timer = new AbortController()
    const { clock, limits } = this.#deps
    const isOver = clock.sleep(waitMs, timer.signal)
    const turn = (): Promise<T> =>
      withDeadline(work(this.#running.has(boxId)), {
        ms: limits.startDeadlineMs,
        what: 'The change of the box did not end',
        clock,
        onLate: () => this.verify(boxId),
      })
    return this.#queue.exclusive(boxId, turn, isOver).finally(() => timer.abort())
  }

  /** A running box may no longer be what its record says: brings it there, as often as it takes. */
  verify(boxId: string): void {
    this.#unverified.add(boxId)
    this.#queue.add(boxId)
  }

  /** Resolves once no deleted box has any of these host paths mounted, true, or after `timeoutMs`, false. */
  untilFree(trees: readonly string[], timeoutMs: number): Promise<boolean> {
    return this.#graves.untilFree(trees, timeoutMs)
  }

  /** A box or volume was deleted: destroys what it leaves. `trees` are host paths that its processes may have mounted. */
  bury(tombstone: Tombstone, trees: readonly string[] = []): void {
    this.#graves.add(tombstone, trees)
    this.#waiters.notify(tombstone.id)
    this.wake(tombstone.id)
  }

  /** The record once it has come to rest at `generation`, or as it is after `waitMs`; null if the box is gone. */
  settled(boxId: string, generation: number, waitMs: number): Promise<BoxRecord | null> {
    const { store, clock } = this.#deps
    const isAtRest = (record: BoxRecord | null): boolean =>
      record === null || (record.observed.generation >= generation && record.observed.status !== 'pending')
    const timer = new AbortController()
    return this.#waiters
      .until(boxId, {
        read: () => store.boxes.byId(boxId),
        isDone: isAtRest,
        timeout: clock.sleep(waitMs, timer.signal),
      })
      .finally(() => timer.abort())
  }

  /** Deleted boxes whose remains could not be destroyed yet, and why. */
  stuckTombstones(): { id: string; error: string }[] {
    return this.#graves.stuck()
  }

  /** Ends after the step that each box is in. */
  close(): Promise<void> {
    return this.#queue.close()
  }

  async #reconcile(boxId: string): Promise<void> {
    for (let turn = 0; turn < MAX_TURNS; turn++) {
      const record = await this.#deps.store.boxes.byId(boxId)
      const step = record ? planBox(record, this.#observe(boxId)) : null
      if (!record) await this.#destroy(boxId)
      if (!record || !step || step.kind === 'none') {
        if (record && this.#unverified.has(boxId) && this.#running.has(boxId)) await verifyBox(this.#deps, record)
        this.#unverified.delete(boxId)
        this.#failures.delete(boxId)
        return
      }
      await this.#act(record, step)
    }
    throw new Error('The box does not come to rest.')
  }

  #observe(boxId: string): BoxWorld {
    const { bootId } = this.#deps
    return { isRunning: this.#running.has(boxId), bootId, exit: this.#exits.get(boxId) ?? null }
  }

  // One key, one worker: a start under way has ended before its remains are destroyed.
  async #destroy(boxId: string): Promise<void> {
    if (this.#graves.has(boxId) || this.#running.has(boxId)) await this.#graves.destroy(boxId)
    this.#running.delete(boxId)
    this.#exits.delete(boxId)
  }

  async #act(record: BoxRecord, step: BoxStep): Promise<void> {
    switch (step.kind) {
      case 'start':
        return this.#attempt(record, () => this.#starts.run(() => this.#start(record)), failedStart)
      case 'stop':
        return this.#attempt(
          record,
          () => this.#stop(record, step.graceMs),
          () => STOPPED,
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
        return this.#settle(record, step.outcome)
      case 'none':
    }
  }

  // What fails is cleared away at once; where even that fails the box is `unknown`, and tried again later.
  async #attempt(record: BoxRecord, work: () => Promise<void>, onFailure: (error: unknown) => Outcome): Promise<void> {
    const { store, logger } = this.#deps
    try {
      await work()
    } catch (error) {
      logger.error('box step failed', { box: record.id, error })
      try {
        await this.#end(record.id, { graceMs: 0 })
      } catch (cause) {
        if (record.observed.status !== 'unknown') await this.#settle(record, unknownOutcome(record))
        throw cause
      }
      this.#running.delete(record.id)
      // Whoever wished for something else meanwhile is not overruled by this failure: the next turn sees that wish.
      const latest = await store.boxes.byId(record.id)
      if (latest?.desired.generation === record.desired.generation) await this.#settle(latest, onFailure(error))
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
        this.#running.delete(boxId)
        this.#queue.add(boxId)
      },
    })
  }

  async #start(record: BoxRecord): Promise<void> {
    const { store, clock, runtime, filesystem, limits } = this.#deps
    // It may have waited long for its turn.
    if ((await store.boxes.byId(record.id))?.version !== record.version) return
    let current = record
    if (record.observed.status !== 'pending') {
      current = pendingRecord(record, 'starting', clock.now())
      if (!(await store.boxes.replace(current))) return
      this.#waiters.notify(record.id)
    }
    this.#exits.delete(record.id)
    await checkStart({ filesystem, graves: this.#graves, waitMs: limits.stopSlackMs }, current)
    await withDeadline(runtime.start(boxSpecOf(current, filesystem, limits.pidsPerBox)), {
      ms: limits.startDeadlineMs,
      what: 'The box did not start',
      clock,
      onLate: () => {
        this.#noteStarted(record.id)
        this.#queue.add(record.id)
      },
    })
    this.#noteStarted(record.id)
    this.#unverified.delete(record.id)
    await this.#settle(current, READY)
  }

  // The news of its end may have come before that of its start.
  #noteStarted(boxId: string): void {
    if (!this.#exits.has(boxId)) this.#running.add(boxId)
  }

  async #stop(record: BoxRecord, graceMs: number): Promise<void> {
    const controller = new AbortController()
    this.#stops.set(record.id, controller)
    try {
      await this.#end(record.id, { graceMs, signal: controller.signal })
      this.#running.delete(record.id)
      this.#exits.delete(record.id)
    } finally {
      this.#stops.delete(record.id)
    }
    await this.#settle(record, STOPPED)
  }

  async #reap(record: BoxRecord, outcome: Outcome): Promise<void> {
    await this.#end(record.id, { graceMs: 0 })
    this.#exits.delete(record.id)
    await this.#settle(record, outcome)
  }

  // A lost compare-and-set is no fault: somebody wants something else by now, and the next turn sees it.
  async #settle(record: BoxRecord, outcome: Outcome): Promise<void> {
    const { store, clock, bootId } = this.#deps
    const isStored = await store.boxes.replace(settleRecord(record, outcome, { now: clock.now(), bootId }))
    if (isStored) this.#waiters.notify(record.id)
  }

  #retryLater(boxId: string, error: unknown): void {
    const count = (this.#failures.get(boxId) ?? 0) + 1
    this.#failures.set(boxId, count)
    this.#deps.logger.error('reconcile failed', { box: boxId, error, attempts: count })
    this.#queue.addLater(boxId, Math.min(RETRY_MAX_MS, RETRY_MS * 2 ** count))
  }
}

const RETRY_MS = 500
const RETRY_MAX_MS = 60_000
const MAX_TURNS = 32
