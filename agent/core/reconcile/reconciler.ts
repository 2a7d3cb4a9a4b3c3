import type { Logger } from '../../../shared/log.ts'
import type { BoxExit, Runtime } from '../../ports/boxes/runtime.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { Meter } from '../../ports/host/meter.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { BoxRecord, Store } from '../../ports/store/store.ts'
import type { Tombstone } from '../../ports/store/tombstones.ts'
import { withDeadline, withTimer } from '../common/deadline.ts'
import { createKeyedQueue, type KeyedQueue } from '../common/keyed-queue.ts'
import { forkIdsOf } from '../common/service-instances.ts'
import { createWaiters, type Waiters } from '../common/waiters.ts'
import { BoxSteps } from './box-steps.ts'
import { restoreBoxes, verifyBox } from './box-verify.ts'
import { type BoxWorld, planBox } from './plan.ts'
import { createReaper, type Reaper, type ReaperDeps } from './reaper.ts'
import { createStepMeter, type StepMeter } from './step-meter.ts'

export interface ReconcilerDeps {
  store: Store
  runtime: Runtime
  filesystem: CowFilesystem
  outputs: ReaperDeps['outputs']
  clock: Clock
  logger: Logger
  meter: Meter
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
  readonly #failures = new Map<string, number>()
  /** Running boxes whose mounts and limits may differ from their records. */
  readonly #unverified = new Set<string>()
  readonly #waiters: Waiters = createWaiters()
  #onChange: (boxId: string) => void = () => undefined
  readonly #reaper: Reaper
  readonly #stepMeter: StepMeter
  readonly #steps: BoxSteps
  readonly #queue: KeyedQueue

  constructor(deps: ReconcilerDeps) {
    this.#deps = deps
    this.#reaper = createReaper(deps)
    this.#stepMeter = createStepMeter(deps.meter, deps.clock)
    this.#steps = new BoxSteps({
      ...deps,
      steps: this.#stepMeter,
      reaper: this.#reaper,
      running: this.#running,
      exits: this.#exits,
      onStarted: (boxId) => this.#unverified.delete(boxId),
      onChange: (boxId) => this.#changed(boxId),
      wake: (boxId) => this.#queue.add(boxId),
      scheduleDestroy: (tombstone) => this.scheduleDestroy(tombstone),
    })
    this.#queue = createKeyedQueue({
      work: (boxId) => this.#reconcile(boxId),
      onError: (boxId, error) => this.#retryLater(boxId, error),
    })
  }

  /** Takes up every box and tombstone as the last process left them; call once, after the runtime is open. */
  async recover(): Promise<void> {
    const { runtime, store } = this.#deps
    const forks = new Set((await store.services.all()).flatMap(forkIdsOf))
    for (const box of await runtime.list()) if (box.isRunning && !forks.has(box.id)) this.#running.add(box.id)
    runtime.onExit((exit) => {
      this.#running.delete(exit.id)
      this.#exits.set(exit.id, exit)
      this.#queue.add(exit.id)
    })
    runtime.onRecovery(() => this.#failures.forEach((_count, boxId) => this.#queue.add(boxId)))
    await this.#takeUpGraves(forks)
    for (const boxId of await restoreBoxes(this.#deps, this.#running)) this.#unverified.add(boxId)
    for (const record of await store.boxes.all()) this.#queue.add(record.id)
    for (const boxId of this.#running) this.#queue.add(boxId)
  }

  /** Calls `listener` when the record of a box has changed, or is gone; at most one listener. */
  onChange(listener: (boxId: string) => void): void {
    this.#onChange = listener
  }

  /** A box's record has changed; a stop under way no longer waits out its grace. */
  wake(boxId: string): void {
    this.#steps.hurry(boxId)
    this.#queue.add(boxId)
    this.#onChange(boxId)
  }

  /**
   * Runs `work` while no other step of the box is under way, or begins; it learns whether the box runs.
   * @throws ServiceError `box_busy` if that is not possible within `waitMs`, `internal` if it takes longer than any step may
   */
  exclusive<T>(boxId: string, work: (isRunning: boolean) => Promise<T>, waitMs: number): Promise<T> {
    const { clock, limits } = this.#deps
    const turn = (): Promise<T> =>
      withDeadline(work(this.#running.has(boxId)), {
        ms: limits.startDeadlineMs,
        what: 'The change of the box did not end',
        clock,
        onLate: () => this.verify(boxId),
      })
    return withTimer({ clock, ms: waitMs }, (isOver) => this.#queue.exclusive(boxId, turn, isOver))
  }

  /** A running box may no longer be what its record says: brings it there, as often as it takes. */
  verify(boxId: string): void {
    this.#unverified.add(boxId)
    this.#queue.add(boxId)
  }

  /** Resolves once no deleted box has any of these host paths mounted, true, or after `timeoutMs`, false. */
  untilFree(trees: readonly string[], timeoutMs: number): Promise<boolean> {
    return this.#reaper.untilFree(trees, timeoutMs)
  }

  /** A box or volume was deleted: destroys what it leaves. `trees` are host paths that its processes may have mounted. */
  scheduleDestroy(tombstone: Tombstone, trees: readonly string[] = []): void {
    this.#reaper.add(tombstone, trees)
    this.#changed(tombstone.id)
    this.wake(tombstone.id)
  }

  /** The record once it has come to rest at `generation`, or as it is after `waitMs`; null if the box is gone. */
  settled(boxId: string, generation: number, waitMs: number): Promise<BoxRecord | null> {
    const { store, clock } = this.#deps
    const isAtRest = (record: BoxRecord | null): boolean =>
      record === null || (record.observed.generation >= generation && record.observed.status !== 'pending')
    return withTimer({ clock, ms: waitMs }, (timeout) =>
      this.#waiters.until(boxId, { read: () => store.boxes.byId(boxId), isDone: isAtRest, timeout }),
    )
  }

  /** Deleted boxes whose remains could not be destroyed yet, and why. */
  stuckTombstones(): { id: string; error: string }[] {
    return this.#reaper.stuck()
  }

  /** Boxes with a step under way, with another one due after it, and to be tried again later. */
  queued(): ReturnType<KeyedQueue['counts']> {
    return this.#queue.counts()
  }

  /** Ends after the step that each box is in. */
  close(): Promise<void> {
    return this.#queue.close()
  }

  #changed(boxId: string): void {
    this.#waiters.notify(boxId)
    this.#onChange(boxId)
  }

  // What a deleted box that still runs was started from may have a tombstone of its own.
  // What a service still has of its forks is not given up yet.
  async #takeUpGraves(forks: ReadonlySet<string>): Promise<void> {
    const { runtime, store, filesystem } = this.#deps
    const tombstones = (await store.tombstones.all()).filter(({ id }) => !forks.has(id))
    const parts = tombstones.filter(({ id }) => !this.#running.has(id)).map(({ root }) => filesystem.path(root))
    for (const tombstone of tombstones) {
      const isRunning = this.#running.has(tombstone.id)
      const mounts = isRunning ? await runtime.mounts(tombstone.id) : []
      this.scheduleDestroy(tombstone, isRunning ? [...mounts.map(({ source }) => source), ...parts] : [])
    }
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
      await this.#steps.act(record, step)
    }
    throw new Error('The box does not come to rest.')
  }

  #observe(boxId: string): BoxWorld {
    return { isRunning: this.#running.has(boxId), bootId: this.#deps.bootId, exit: this.#exits.get(boxId) ?? null }
  }

  // One key, one worker: a start under way has ended before its remains are destroyed.
  async #destroy(boxId: string): Promise<void> {
    if (this.#reaper.has(boxId) || this.#running.has(boxId))
      await this.#stepMeter.run('destroy', () => this.#reaper.destroy(boxId).then(() => true))
    this.#running.delete(boxId)
    this.#exits.delete(boxId)
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
