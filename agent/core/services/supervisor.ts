import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { InstanceRecord, ServiceRecord } from '../../ports/store/services.ts'
import { awaitCommit } from '../common/commit.ts'
import { withTimer } from '../common/deadline.ts'
import { bumped } from '../common/edit-record.ts'
import { createKeyedQueue, type KeyedQueue } from '../common/keyed-queue.ts'
import { hostOf, instancesOf, lastRun } from '../common/service-instances.ts'
import { createWaiters, type Waiters } from '../common/waiters.ts'
import { discardDetached } from '../exec/live-exec.ts'
import { type BoxReader, createBoxReader } from './box-reader.ts'
import { lastLines } from './logs.ts'
import {
  createRunRegistry,
  createServiceObserver,
  keyOf,
  type ObservedService,
  parseKey,
  type ServiceKey,
  type ServiceObserver,
  writtenBytes,
} from './observer.ts'
import { planInstances, type ServiceAction } from './plan.ts'
import { monitorRun, type RunMonitor } from './run-monitor.ts'
import { createRunStarter, type RunStarter, type RunStarterDeps } from './run-starter.ts'
import { createRunTerminator, type RunTerminator } from './run-terminator.ts'
import { trySettle } from './traffic.ts'
import { switchedToNext, withFailure } from './versions.ts'

/** Moves services towards their desired state. Runs one step of each at a time, as observe → plan → act. */
export class ServiceSupervisor {
  readonly #deps: RunStarterDeps
  readonly #runs = createRunRegistry()
  /** Needs of each service by its name, by box id. */
  readonly #needs = new Map<string, Map<string, readonly string[]>>()
  readonly #waiters: Waiters
  readonly #starter: RunStarter
  readonly #terminator: RunTerminator
  readonly #observer: ServiceObserver
  readonly #readBox: BoxReader
  readonly #queue: KeyedQueue
  #isClosed = false

  constructor(deps: RunStarterDeps) {
    this.#deps = deps
    this.#waiters = createWaiters(deps.actorContext)
    this.#starter = createRunStarter(deps)
    this.#terminator = createRunTerminator(deps)
    this.#readBox = createBoxReader(deps.store)
    const observed = { runs: this.#runs, terminator: this.#terminator, readBox: this.#readBox }
    this.#observer = createServiceObserver({ ...deps, ...observed })
    const onError = (key: string, error: unknown): void => this.#retryLater(key, error)
    this.#queue = createKeyedQueue({ ...deps, work: (key) => this.#reconcile(parseKey(key)), onError })
  }

  /** Adopts the runs of earlier processes. Call once, after the boxes were adopted and before any request. */
  async recover(): Promise<void> {
    const { store, runtime, logger } = this.#deps
    const execs = new Map((await runtime.listDetached()).map((each) => [each.execId, each]))
    for await (const record of store.services.each()) {
      const box = await this.#readBox(record.boxId)
      this.#noteNeeds(record, record.spec.needs)
      for (const instance of instancesOf(record)) {
        for (const run of instance.runs) {
          const exec = execs.get(run.execId)
          if (exec === undefined) continue
          const found = { name: record.name, instance, isCandidate: instance !== record.active, exec }
          if (run.end !== null || box === null) void exec.forget()
          else this.#runs.add(record, monitorRun(this.#deps, { ...found, box }, this.#onChange(record)))
        }
      }
      this.#queue.add(keyOf(record))
    }
    if (this.#runs.count() > 0) logger.info('adopted running services', { services: this.#runs.count() })
  }

  /** Queues a step, after a change of the record or its box. With `killNow` a termination under way no longer waits. */
  wake(key: ServiceKey, { killNow = false } = {}): void {
    if (killNow) for (const run of this.#runs.of(key)) this.#terminator.killNow(run)
    this.#noteNeeds(key)
    this.#queue.add(keyOf(key))
  }

  /** Queues a step of each service of a box, after a change of the box. */
  wakeBox(boxId: string): void {
    for (const name of this.#needs.get(boxId)?.keys() ?? []) this.wake({ boxId, name })
  }

  /** Returns null if there is no such service. */
  async observe(key: ServiceKey): Promise<ObservedService | null> {
    const record = await this.#deps.store.services.get(key.boxId, key.name)
    return record ? this.#observer.observe(record) : null
  }

  /** Waits until `isDone` or the service is gone, at most `waitMs`. Returns the last observation. */
  async until(
    key: ServiceKey,
    isDone: (service: ObservedService) => boolean,
    waitMs: number,
  ): Promise<ObservedService | null> {
    const isOver = (service: ObservedService | null): boolean => service === null || isDone(service)
    return withTimer({ clock: this.#deps.clock, ms: waitMs }, (timeout) =>
      this.#waiters.until(keyOf(key), { read: () => this.observe(key), isDone: isOver, timeout }),
    )
  }

  /** Runs `turn` exclusively of the steps of the service. Throws as KeyedQueue.exclusive after 20 s. */
  async exclusive<T>(key: ServiceKey, turn: () => Promise<T>): Promise<T> {
    return withTimer({ clock: this.#deps.clock, ms: TURN_MS }, (isOver) =>
      this.#queue.exclusive(keyOf(key), turn, isOver),
    )
  }

  /** Returns the bytes that the last run of a version has written so far. */
  bytesOf(key: ServiceKey, instance: InstanceRecord): number {
    return writtenBytes(this.#deps.outputs, key, instance)
  }

  /** Resolves after the steps in progress. Runs continue. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([this.#terminator.close(), this.#queue.close()])
  }

  async #reconcile(key: ServiceKey): Promise<void> {
    for (let turn = 0; turn < MAX_TURNS && !this.#isClosed; turn++) {
      const record = await this.#deps.store.services.get(key.boxId, key.name)
      if (record === null) return this.#forget(key)
      this.#noteNeeds(key, record.spec.needs)
      const box = await this.#readBox(key.boxId)
      if (box === null) return this.#forget(key)
      await this.#endStrays(record)
      if (await this.#recordEnd(record)) continue
      for (const excess of record.retired.slice(0, -RETIRED_MAX)) this.#killNow(record, excess)
      const action = planInstances(record, await this.#observer.worldOf(record, box))
      if (action.kind === 'rest') {
        if (action.inMs !== null) this.#queue.addLater(keyOf(key), action.inMs)
        return
      }
      await this.#act(record, box, action)
      this.#changed(key)
    }
    // A service that needs more steps gets them after a pause, so that an endless loop costs little.
    this.#queue.addLater(keyOf(key), RETRY_MS)
  }

  async #act(record: ServiceRecord, box: BoxRecord, action: Exclude<ServiceAction, { kind: 'rest' }>): Promise<void> {
    switch (action.kind) {
      case 'start': {
        const run = await this.#starter.start({ record, box, ...action }, this.#onChange(record))
        if (run !== null) this.#runs.add(record, run)
        return
      }
      case 'end':
        return this.#terminate(record, action)
      case 'halt':
        return this.#deps.forks.halt(action.fork)
      case 'fail':
        return this.#fail(record, action)
      case 'switch':
        return this.#switch(record)
      case 'cut-off':
        return this.#cutOff(record)
      case 'forget':
        return this.#forgetVersion(record, action.instance)
    }
  }

  #terminate(record: ServiceRecord, { instance, drains }: Extract<ServiceAction, { kind: 'end' }>): void {
    const run = this.#runs.find(record, instance)
    if (run === null) return
    const onError = (error: unknown): void => this.#retryLater(keyOf(record), error)
    this.#terminator.terminate({ boxId: record.boxId, instance, run, drains, onError })
  }

  #killNow(record: ServiceRecord, instance: InstanceRecord): void {
    const run = this.#runs.find(record, instance)
    if (run !== null) this.#terminator.killNow(run)
  }

  async #fail(record: ServiceRecord, { slot, why }: Extract<ServiceAction, { kind: 'fail' }>): Promise<void> {
    const { outputs, clock, forks } = this.#deps
    const candidate = record[slot]
    const output = lastLines(outputs, record, candidate)
    await this.#write(withFailure(record, { slot, why, output }, clock.now()))
    if (!candidate?.fork) return
    // The processes of a preview in a fork end with the fork, which releases its address. No route may lead there by then.
    await trySettle(this.#deps, record.boxId)
    await forks.halt(candidate.fork)
  }

  async #switch(record: ServiceRecord): Promise<void> {
    const { clock, traffic } = this.#deps
    if (record.next === null) return
    const bytesOf = (instance: InstanceRecord): number => this.bytesOf(record, instance)
    const at = clock.now()
    await this.#write(switchedToNext(record, record.next, { by: record.next.by, at, bytesOf }))
    await traffic.settle(record.boxId)
  }

  // A rollback is excluded by this step.
  async #cutOff({ boxId, name, previous }: ServiceRecord): Promise<void> {
    const run = this.#runs.find({ boxId, name }, previous)
    if (previous !== null && run !== null) await this.#terminator.cutOff(boxId, previous, run)
  }

  async #forgetVersion(record: ServiceRecord, instance: InstanceRecord): Promise<void> {
    const { outputs, forks } = this.#deps
    for (const { execId } of instance.runs)
      await outputs.remove({ boxId: hostOf(record, instance), execId }).catch(() => undefined)
    const retired = record.retired.filter((each) => each !== instance)
    await awaitCommit(this.#write({ ...record, retired }), () => forks.sweep())
    if (instance.fork === null) return
    await trySettle(this.#deps, record.boxId)
    await forks.sweep()
  }

  // Writes nothing if the record has changed. The next turn plans again.
  async #write(record: ServiceRecord): Promise<void> {
    await this.#deps.store.services.replace(bumped(record, this.#deps.clock.now()))
  }

  // Records the end of one run that has ended. Returns false if there is none.
  async #recordEnd(record: ServiceRecord): Promise<boolean> {
    const instance = instancesOf(record).find((each) => {
      const monitor = this.#runs.find(record, each)
      return monitor === null ? lastRun(each)?.end === null : monitor.ended !== null
    })
    const run = lastRun(instance ?? null)
    if (instance === undefined || run === null) return false
    const monitor = this.#runs.find(record, instance)
    if (run.end === null) await this.#starter.writeEnd(record, { instance, run, end: monitor?.ended?.end ?? null })
    if (monitor !== null) {
      this.#runs.remove(record, monitor)
      await monitor.exec.forget()
    }
    this.#changed(record)
    return true
  }

  // Ends the runs of a deleted service whose name another service took before this supervisor noticed. They may hold its ports.
  async #endStrays(record: ServiceRecord): Promise<void> {
    const own = new Set(instancesOf(record).flatMap(({ runs }) => runs.map(({ execId }) => execId)))
    const strays = this.#runs.of(record).filter(({ exec }) => !own.has(exec.execId))
    if (strays.length > 0) await this.#endRuns(record, strays)
  }

  // Ends the runs of a service whose record, or box, is gone.
  async #forget(key: ServiceKey): Promise<void> {
    this.#needs.get(key.boxId)?.delete(key.name)
    if (this.#needs.get(key.boxId)?.size === 0) this.#needs.delete(key.boxId)
    await this.#endRuns(key, this.#runs.of(key))
  }

  async #endRuns(key: ServiceKey, runs: readonly RunMonitor[]): Promise<void> {
    for (const run of runs) this.#runs.remove(key, run)
    await Promise.all(runs.map(({ exec }) => discardDetached(exec, this.#deps)))
    await trySettle(this.#deps, key.boxId)
    await this.#deps.forks.sweep()
    this.#changed(key)
  }

  #retryLater(key: string, error: unknown): void {
    this.#deps.logger.error('failed to bring a service to its desired state', { service: key, error })
    this.#queue.addLater(key, RETRY_MS)
  }

  // Keeps no record, which may be long, for as long as a run lasts.
  #onChange({ boxId, name }: ServiceKey): () => void {
    const key = { boxId, name }
    return () => {
      this.#changed(key)
      this.wake(key)
    }
  }

  // Wakes the services that need this one as well, and that do not run.
  #changed({ boxId, name }: ServiceKey): void {
    this.#waiters.notify(keyOf({ boxId, name }))
    for (const [other, needs] of this.#needs.get(boxId) ?? []) {
      const key = { boxId, name: other }
      if (needs.includes(name) && this.#runs.of(key).every(({ isCandidate }) => isCandidate))
        this.#queue.add(keyOf(key))
    }
  }

  // Without `needs`, keeps the noted ones, because a step reads the record before it knows the needs.
  #noteNeeds({ boxId, name }: ServiceKey, needs?: readonly string[]): void {
    const ofBox = this.#needs.get(boxId) ?? new Map<string, readonly string[]>()
    this.#needs.set(boxId, ofBox.set(name, needs ?? ofBox.get(name) ?? []))
  }
}

/** Pause from a failed step to the next try. */
const RETRY_MS = 1_000
/** The longest wait for the step under way in `exclusive`. */
const TURN_MS = 20_000
/** Bounds the steps of a service in a row, against an endless loop. */
const MAX_TURNS = 100
/** Retired versions of a service that may take their grace to end. The oldest above that are killed. */
const RETIRED_MAX = 4
