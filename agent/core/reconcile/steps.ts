import { createLimiter, type Limiter } from '../../../shared/locks.ts'
import type { Logger } from '../../../shared/log.ts'
import { refusal } from '../../../shared/refusals.ts'
import type { Runtime } from '../../ports/boxes/runtime.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { Labels, Meter } from '../../ports/host/meter.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { Store } from '../../ports/store/store.ts'
import { withDeadline } from '../common/deadline.ts'
import type { KeyedQueue } from '../common/keyed-queue.ts'
import type { Waiters } from '../common/waiters.ts'
import { boxSpecOf, type SpecLimits } from './box-spec.ts'
import { failedStart, MissingRoot, pendingRecord, settleRecord, startFailure, unknownOutcome } from './outcome.ts'
import { type BoxStep, type Outcome, READY, stoppedOutcome } from './plan.ts'
import type { BoxProcesses } from './processes.ts'
import type { Reaper } from './reaper.ts'
import { openRestoration } from './restoration.ts'
import type { StateVerifier } from './verify.ts'
import { noteWaits } from './waits.ts'

export interface BoxStepsDeps {
  store: Store
  runtime: Runtime
  filesystem: CowFilesystem
  clock: Clock
  logger: Logger
  meter: Meter
  /** Boot id of the running kernel. */
  bootId: string
  limits: SpecLimits & { startsAtOnce: number; startDeadlineMs: number; stopSlackMs: number }
  processes: BoxProcesses
  reaper: Reaper
  verifier: StateVerifier
  /** Gets each box whose start or stop comes after its deadline. */
  queue: Pick<KeyedQueue, 'add'>
  /** Notified of each box whose record has changed. */
  changes: Pick<Waiters, 'notify'>
}

/** Executes the planned steps of a box, one at a time, and records the outcome. */
export class BoxSteps {
  readonly #deps: BoxStepsDeps
  readonly #starts: Limiter
  /** Abort the grace of the stops under way, by box. */
  readonly #stops = new Map<string, AbortController>()
  readonly #failedStarts = new Map<string, string>()
  readonly #time: (labels: Labels<'kind' | 'outcome'>, seconds: number) => void

  constructor(deps: BoxStepsDeps) {
    this.#deps = deps
    this.#starts = createLimiter(deps.limits.startsAtOnce)
    this.#time = deps.meter.histogram(STEPS)
  }

  /** Returns why the last start failed, by id, of the boxes that should run and whose start is tried again. */
  failedStarts(): ReadonlyMap<string, string> {
    return this.#failedStarts
  }

  /** Cuts short the grace of a stop under way. */
  hurry(boxId: string): void {
    this.#stops.get(boxId)?.abort()
  }

  /** Executes a step. Rejects if the box must be tried again later. */
  async act(record: BoxRecord, step: BoxStep): Promise<void> {
    return this.#timed(step.kind, () => this.#do(record, step))
  }

  /** Destroys the remains of a box without a record. Rejects if it must be tried again later. */
  async destroy(boxId: string): Promise<void> {
    const { reaper, processes } = this.#deps
    if (reaper.has(boxId) || processes.isRunning(boxId))
      await this.#timed('destroy', () => reaper.destroy(boxId).then(() => true))
    processes.noteStopped(boxId)
    processes.forgetExit(boxId)
    this.#failedStarts.delete(boxId)
  }

  /** Returns true if the step succeeded. */
  async #do(record: BoxRecord, step: BoxStep): Promise<boolean> {
    switch (step.kind) {
      case 'start': {
        const start = (): Promise<void> => this.#inTurn(record.project, (onWaiting) => this.#start(record, onWaiting))
        return this.#attempt(record, start, this.#failedStart(record))
      }
      case 'stop': {
        const outcome = stoppedOutcome(record)
        return this.#attempt(
          record,
          async () => {
            await this.#halt(record, step.graceMs)
            await this.#settle(record, outcome)
          },
          () => outcome,
        )
      }
      case 'reap': {
        const { outcome } = step
        return this.#attempt(
          record,
          async () => {
            await this.#halt(record, 0)
            await this.#settle(record, outcome)
          },
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

  #failedStart(record: BoxRecord): (error: unknown) => Outcome {
    return (error) => {
      const outcome = failedStart(record)(error)
      if (outcome.status === 'unknown') this.#failedStarts.set(record.id, startFailure(error))
      return outcome
    }
  }

  // Undoes a failed step at once. If even that fails, sets the box `unknown` and rejects, to be tried again later.
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
        await this.#stop(record.id, 0)
      } catch (cause) {
        if (record.observed.status !== 'unknown') await this.#settle(record, unknownOutcome(record))
        throw cause
      }
      // If the desired state has changed, leave it to the next turn.
      const latest = await store.boxes.byId(record.id)
      if (latest?.desired.generation !== record.desired.generation) return false
      const outcome = onFailure(error)
      if (outcome === null) return false
      await this.#settle(latest, outcome)
      if (outcome.status === 'unknown') throw error
      return false
    }
  }

  // A start that waits for a slot lets the next one begin. Otherwise boxes that fit on no node would block all projects.
  async #inTurn(project: string, work: (onWaiting: () => void) => Promise<void>): Promise<void> {
    const waiting = Promise.withResolvers<void>()
    let start: Promise<void> | undefined
    await this.#starts.run(() => {
      start = work(waiting.resolve)
      return Promise.race([start, waiting.promise])
    }, project)
    await start
  }

  async #start(record: BoxRecord, onWaiting: () => void): Promise<void> {
    const { store, clock, changes } = this.#deps
    // The record may have changed during the wait for a slot.
    if ((await store.boxes.byId(record.id))?.version !== record.version) return
    let current = record
    if (record.observed.status !== 'pending') {
      current = pendingRecord(record, 'starting', clock.now())
      if (!(await store.boxes.replace(current))) return
      changes.notify(record.id)
    }
    const waits = noteWaits(this.#deps, current)
    await this.#launch(current, (why) => {
      onWaiting()
      waits.note(why)
    })
    await this.#settle(await waits.latest(), READY)
  }

  async #launch(record: BoxRecord, onWaiting?: (why: string) => void): Promise<void> {
    const { runtime, filesystem, clock, limits, processes, verifier, queue } = this.#deps
    const { id } = record
    processes.forgetExit(id)
    await this.#checkStart(record)
    await withDeadline(runtime.start(boxSpecOf(record, filesystem, limits), onWaiting), {
      ms: limits.startDeadlineMs,
      what: 'The box did not start',
      clock,
      onLate: () => {
        processes.noteStarted(id)
        queue.add(id)
      },
    })
    processes.noteStarted(id)
    verifier.clear(id)
  }

  /**
   * Checks that a box has its root, and waits until no deleted box that still runs has one of its volumes. Never recreates a
   * lost root, because the box would look healthy with its data gone.
   * @throws MissingRoot for a root that is lost, ServiceError `volume_in_use` after `stopSlackMs`
   */
  async #checkStart(record: BoxRecord): Promise<void> {
    const { filesystem, reaper, limits } = this.#deps
    if (!(await filesystem.exists(record.root))) throw new MissingRoot()
    const trees = record.mounts.map(({ subvolume }) => filesystem.path(subvolume))
    // A box that is deleted while it starts does not wait for itself.
    if (await reaper.untilFree(trees, limits.stopSlackMs, record.id)) return
    throw refusal('volume_in_use', ['A deleted box that is still ending has a data volume of this one.', 'Try again.'])
  }

  async #halt({ id }: BoxRecord, graceMs: number): Promise<void> {
    await this.#stop(id, graceMs)
    this.#deps.processes.forgetExit(id)
  }

  // Ends all processes, with SIGKILL after the grace or `hurry`.
  async #stop(boxId: string, graceMs: number): Promise<void> {
    const { runtime, clock, limits, processes, queue } = this.#deps
    const controller = new AbortController()
    this.#stops.set(boxId, controller)
    try {
      await withDeadline(runtime.stop(boxId, { graceMs, signal: controller.signal }), {
        ms: graceMs + limits.stopSlackMs,
        what: 'The box did not end',
        clock,
        onLate: () => {
          processes.noteStopped(boxId)
          queue.add(boxId)
        },
      })
      processes.noteStopped(boxId)
    } finally {
      this.#stops.delete(boxId)
    }
  }

  // If the box cannot be started with the restored trees, ends it again and continues with the earlier ones.
  async #restore(record: BoxRecord): Promise<boolean> {
    const { processes, reaper, changes, logger } = this.#deps
    const restoration = await openRestoration({ ...this.#deps, reconciler: reaper }, record)
    try {
      await restoration.seal()
      // A start of a deleted box would wait for its own end to free the volumes.
      if (await restoration.isOver()) return true
      const isWanted = record.desired.power === 'running'
      if (isWanted) await this.#inTurn(record.project, (onWaiting) => this.#launch(restoration.restored, onWaiting))
      await restoration.commit({ isRunning: processes.isRunning(record.id) })
      return true
    } catch (error) {
      logger.error('restore failed', { box: record.id, error })
      // A failure after the commit undoes nothing.
      if (await restoration.isOver()) return true
      await this.#stop(record.id, 0)
      await restoration.undo(error)
      return false
    } finally {
      changes.notify(record.id)
    }
  }

  // A lost compare-and-set is no fault. The desired state has changed, and the next turn reads it.
  async #settle(record: BoxRecord, outcome: Outcome): Promise<void> {
    const { store, clock, bootId, changes, processes } = this.#deps
    if (outcome.status !== 'unknown') this.#failedStarts.delete(record.id)
    const at = { now: clock.now(), bootId, wasStarted: processes.wasStarted(record.id) }
    const isStored = await store.boxes.replace(settleRecord(record, outcome, at))
    if (isStored) changes.notify(record.id)
  }

  async #timed(kind: BoxStep['kind'] | 'destroy', work: () => Promise<boolean>): Promise<void> {
    const { clock } = this.#deps
    const startedAt = clock.now()
    let isDone = false
    try {
      isDone = await work()
    } finally {
      this.#time({ kind, outcome: isDone ? 'done' : 'failed' }, Math.max(0, clock.now() - startedAt) / 1000)
    }
  }
}

const STEPS = {
  name: 'boxyard_reconcile_step_duration_seconds',
  help: 'Duration of a step of a box, by step and outcome.',
  labels: ['kind', 'outcome'],
  bounds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
} as const
