import type { ExecOutputs } from '../../ports/exec/outputs.ts'
import type { Directory } from '../../ports/fleet/directory.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { ActorContext } from '../../ports/store/events.ts'
import type { Tombstone } from '../../ports/store/tombstones.ts'
import { withDeadline, withTimer } from '../common/deadline.ts'
import { createKeyedQueue, type KeyedQueue } from '../common/keyed-queue.ts'
import { forkIdsOf, forksOf } from '../common/service-instances.ts'
import { createWaiters, type Waiters } from '../common/waiters.ts'
import { type BoxWorld, planBox } from './plan.ts'
import { type BoxProcesses, createBoxProcesses } from './processes.ts'
import { createReaper, type Reaper } from './reaper.ts'
import { BoxSteps, type BoxStepsDeps } from './steps.ts'
import { createStateVerifier, type StateVerifier } from './verify.ts'

export interface ReconcilerDeps extends Omit<BoxStepsDeps, 'processes' | 'reaper' | 'verifier' | 'queue' | 'changes'> {
  directory: Directory
  outputs: Pick<ExecOutputs, 'removeBox'>
  actorContext: Pick<ActorContext, 'current'>
}

/**
 * Moves boxes to their desired state: observe → plan → act, one step of a box at a time. A request that waits for its effect
 * waits for this same loop.
 */
export class Reconciler {
  readonly #deps: ReconcilerDeps
  /** Attempts that failed in a row, by box. */
  readonly #failures = new Map<string, number>()
  /** Notified of each box whose record has changed, or is gone. */
  readonly #changes: Waiters
  readonly #queue: KeyedQueue
  readonly #processes: BoxProcesses
  readonly #reaper: Reaper
  readonly #verifier: StateVerifier
  readonly #steps: BoxSteps

  constructor(deps: ReconcilerDeps) {
    this.#deps = deps
    this.#changes = createWaiters(deps.actorContext)
    this.#queue = createKeyedQueue({
      ...deps,
      work: (boxId) => this.#reconcile(boxId),
      onError: (boxId, error) => this.#retryLater(boxId, error),
    })
    this.#processes = createBoxProcesses(deps.runtime, this.#queue)
    this.#reaper = createReaper({ ...deps, queue: this.#queue })
    this.#verifier = createStateVerifier({ ...deps, processes: this.#processes })
    const parts = { processes: this.#processes, reaper: this.#reaper, verifier: this.#verifier, changes: this.#changes }
    this.#steps = new BoxSteps({ ...deps, ...parts, queue: this.#queue })
  }

  /** Adopts every box and tombstone of the last process. Call once, after the runtime is open. */
  async recover(): Promise<void> {
    const { runtime, store } = this.#deps
    const forks = new Set((await forksOf(store)).flatMap(forkIdsOf))
    await this.#processes.recover(forks)
    runtime.onRecovery(() => this.#failures.forEach((_count, boxId) => this.#queue.add(boxId)))
    await this.#recoverTombstones(forks)
    await this.#verifier.recover()
    for (const boxId of await store.boxes.ids()) this.#queue.add(boxId)
    for (const boxId of this.#processes.running()) this.#queue.add(boxId)
  }

  /** Calls `listener` when the record of a box has changed, or is gone. At most one listener. */
  onChange(listener: (boxId: string) => void): void {
    this.#changes.onNotify(listener)
  }

  /** Reconciles a record that has changed. Cuts short the grace of a stop under way. */
  wake(boxId: string): void {
    this.#steps.hurry(boxId)
    this.#queue.add(boxId)
    this.#changes.notify(boxId)
  }

  /**
   * Runs `work` while no other step of the box is under way, or begins.
   * @throws ServiceError `box_busy` if that is not possible within `waitMs`, `internal` if it takes longer than any step may
   */
  exclusive<T>(boxId: string, work: (isRunning: boolean) => Promise<T>, waitMs: number): Promise<T> {
    const { clock, limits } = this.#deps
    const turn = (): Promise<T> =>
      withDeadline(work(this.#processes.isRunning(boxId)), {
        ms: limits.startDeadlineMs,
        what: 'The change of the box did not end',
        clock,
        onLate: () => this.verify(boxId),
      })
    return withTimer({ clock, ms: waitMs }, (isOver) => this.#queue.exclusive(boxId, turn, isOver))
  }

  /** Brings a running box that may differ from its record back to it, and retries until it is. */
  verify(boxId: string): void {
    this.#verifier.mark(boxId)
    this.#queue.add(boxId)
  }

  /** Resolves true once no deleted box has any of these host paths mounted, or false after `timeoutMs`. */
  untilFree(trees: readonly string[], timeoutMs: number): Promise<boolean> {
    return this.#reaper.untilFree(trees, timeoutMs)
  }

  /** Destroys the remains of a deleted box or volume. `trees` are host paths that its processes may have mounted. */
  scheduleDestroy(tombstone: Tombstone, trees: readonly string[] = []): void {
    this.#reaper.scheduleDestroy(tombstone, trees)
    this.wake(tombstone.id)
  }

  /** Resolves to the record once it has settled at `generation`, or to its state after `waitMs`. Null if the box is gone. */
  settled(boxId: string, generation: number, waitMs: number): Promise<BoxRecord | null> {
    const { store, clock } = this.#deps
    const isAtRest = (record: BoxRecord | null): boolean =>
      record === null || (record.observed.generation >= generation && record.observed.status !== 'pending')
    return withTimer({ clock, ms: waitMs }, (timeout) =>
      this.#changes.until(boxId, { read: () => store.boxes.byId(boxId), isDone: isAtRest, timeout }),
    )
  }

  /** Ids whose remains could not be destroyed yet, with the error. */
  stuckTombstones(): { id: string; error: string }[] {
    return this.#reaper.stuck()
  }

  /** Returns why the last start failed, by id, of the boxes that should run and whose start is tried again. */
  failedStarts(): ReadonlyMap<string, string> {
    return this.#steps.failedStarts()
  }

  /** Counts the boxes with a step under way, with another one due after it, and to be tried again later. */
  queued(): ReturnType<KeyedQueue['counts']> {
    return this.#queue.counts()
  }

  /** Resolves after the steps under way. Begins no more. */
  close(): Promise<void> {
    return this.#queue.close()
  }

  // Skips the tombstones of forks that a service still has. Waits with the subvolumes of a deleted box that still runs, which may
  // have tombstones of their own.
  async #recoverTombstones(forks: ReadonlySet<string>): Promise<void> {
    const { runtime, store, filesystem } = this.#deps
    const tombstones = (await store.tombstones.all()).filter(({ id }) => !forks.has(id))
    const running = new Set(this.#processes.running())
    const parts = tombstones.filter(({ id }) => !running.has(id)).map(({ root }) => filesystem.path(root))
    for (const tombstone of tombstones) {
      const isRunning = running.has(tombstone.id)
      const mounts = isRunning ? await runtime.mounts(tombstone.id) : []
      this.scheduleDestroy(tombstone, isRunning ? [...mounts.map(({ source }) => source), ...parts] : [])
    }
  }

  // Each key has one worker, so a start under way has ended before its remains are destroyed.
  async #reconcile(boxId: string): Promise<void> {
    for (let turn = 0; turn < MAX_TURNS; turn++) {
      const record = await this.#deps.store.boxes.byId(boxId)
      const step = record ? planBox(record, this.#observe(boxId)) : null
      if (!record) await this.#steps.destroy(boxId)
      if (!record || !step || step.kind === 'none') {
        if (record) await this.#verifier.verify(record)
        else this.#verifier.clear(boxId)
        this.#failures.delete(boxId)
        return
      }
      await this.#steps.act(record, step)
    }
    throw new Error('The box does not come to rest.')
  }

  #observe(boxId: string): BoxWorld {
    const { isRunning, wasStarted, exitOf } = this.#processes
    const { bootId } = this.#deps
    return { isRunning: isRunning(boxId), wasStarted: wasStarted(boxId), bootId, exit: exitOf(boxId) }
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
