import type { OutputPlace } from '../../ports/exec/outputs.ts'
import type { InstanceRecord, ServiceRecord } from '../../ports/store/services.ts'
import type { BoxRecord } from '../../ports/store/store.ts'
import { withTimer } from '../common/deadline.ts'
import { bumped } from '../common/edit-record.ts'
import { createKeyedQueue, type KeyedQueue } from '../common/keyed-queue.ts'
import { hostOf, instancesOf, lastRun, placesOf } from '../common/service-instances.ts'
import { createWaiters } from '../common/waiters.ts'
import { discardDetached } from '../exec/detached-exec.ts'
import { createDrains, type Drains } from './drains.ts'
import { failedCandidate } from './failures.ts'
import { createServiceObserver, type ObservedService, type ServiceObserver } from './observer.ts'
import { planInstances, type ServiceAction } from './plan.ts'
import { monitorRun } from './run-monitor.ts'
import { createRunRegistry, keyOf, parseKey, type ServiceKey } from './run-registry.ts'
import { createRunTerminator, type RunTerminator } from './run-terminator.ts'
import { createStarts, type Starts, type StartsDeps } from './starts.ts'
import { switchedToNext } from './switch.ts'

/** Moves services towards what is wanted of them, one step of each at a time: observe → plan → act. */
export class ServiceSupervisor {
  readonly #deps: StartsDeps
  readonly #runs = createRunRegistry()
  /** Names of the services of each box that has any. */
  readonly #names = new Map<string, Set<string>>()
  readonly #waiters = createWaiters()
  readonly #starts: Starts
  readonly #endings: RunTerminator
  readonly #drains: Drains
  readonly #observer: ServiceObserver
  readonly #queue: KeyedQueue
  #isClosed = false

  constructor(deps: StartsDeps) {
    this.#deps = deps
    this.#starts = createStarts(deps)
    this.#endings = createRunTerminator(deps)
    this.#drains = createDrains(deps)
    this.#observer = createServiceObserver({ ...deps, lives: this.#runs, drains: this.#drains })
    this.#queue = createKeyedQueue({
      work: (key) => this.#reconcile(parseKey(key)),
      onError: (key, error) => this.#retryLater(key, error),
    })
  }

  /** What services wrote, which is kept. */
  async outputs(): Promise<OutputPlace[]> {
    return (await this.#deps.store.services.all()).flatMap(placesOf)
  }

  /** Takes up what runs since before this process; call once, before any request, and after the boxes were taken up. */
  async recover(): Promise<void> {
    const { store, runtime, logger } = this.#deps
    const held = new Map((await runtime.held()).map((each) => [each.execId, each]))
    for (const record of await store.services.all()) {
      const box = await store.boxes.byId(record.boxId)
      this.#note(record)
      for (const instance of instancesOf(record)) {
        for (const run of instance.runs) {
          const each = held.get(run.execId)
          if (each === undefined) continue
          const of = { box, name: record.name, instance, isTrial: instance !== record.active, held: each }
          if (run.end !== null || box === null) void each.forget()
          else this.#runs.add(record, monitorRun(this.#deps, { ...of, box }, this.#onChange(record)))
        }
      }
      this.#queue.add(keyOf(record))
    }
    if (this.#runs.count() > 0) logger.info('services go on', { services: this.#runs.count() })
  }

  /** Something of the record has changed, or of its box. A stop under way goes on; with `hurry` it no longer waits. */
  wake(key: ServiceKey, { hurry = false } = {}): void {
    if (hurry) for (const live of this.#runs.of(key)) this.#endings.hurry(live)
    this.#note(key)
    this.#queue.add(keyOf(key))
  }

  /** The box has changed. */
  wakeBox(boxId: string): void {
    for (const name of this.#names.get(boxId) ?? []) this.wake({ boxId, name })
  }

  /** As it is now; null if there is none. */
  async see(key: ServiceKey): Promise<ObservedService | null> {
    const record = await this.#deps.store.services.get(key.boxId, key.name)
    return record ? this.#observer.of(record) : null
  }

  /** As `see` gives it once `isDone`, or after `waitMs`. */
  async until(
    key: ServiceKey,
    isDone: (sight: ObservedService) => boolean,
    waitMs: number,
  ): Promise<ObservedService | null> {
    const isOver = (sight: ObservedService | null): boolean => sight === null || isDone(sight)
    return withTimer({ clock: this.#deps.clock, ms: waitMs }, (timeout) =>
      this.#waiters.until(keyOf(key), { read: () => this.see(key), isDone: isOver, timeout }),
    )
  }

  /** Runs `turn` while no step of the service is under way, or begins. Throws as KeyedQueue.exclusive. */
  async exclusive<T>(key: ServiceKey, turn: () => Promise<T>): Promise<T> {
    return withTimer({ clock: this.#deps.clock, ms: TURN_MS }, (isOver) =>
      this.#queue.exclusive(keyOf(key), turn, isOver),
    )
  }

  /** Bytes that the run of a version has written which goes on. */
  bytesOf(key: ServiceKey, instance: InstanceRecord): number {
    return this.#starts.bytesOf(key, instance)
  }

  /** Ends after the step that each service is in; what runs goes on. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([this.#endings.close(), this.#queue.close()])
  }

  async #reconcile(key: ServiceKey): Promise<void> {
    for (let turn = 0; turn < MAX_TURNS && !this.#isClosed; turn++) {
      const record = await this.#deps.store.services.get(key.boxId, key.name)
      if (record === null) return this.#forget(key)
      const box = await this.#deps.store.boxes.byId(key.boxId)
      if (box === null) return this.#forget(key)
      if (await this.#recordEnd(record)) continue
      for (const late of record.retired.slice(0, -RETIRED_MAX)) this.#hurry(record, late)
      const action = planInstances(record, await this.#observer.worldOf(record, box))
      if (action.kind === 'rest') {
        if (action.inMs !== null) this.#queue.addLater(keyOf(key), action.inMs)
        return
      }
      await this.#act(record, box, action)
      this.#changed(key)
    }
  }

  async #act(record: ServiceRecord, box: BoxRecord, action: Exclude<ServiceAction, { kind: 'rest' }>): Promise<void> {
    switch (action.kind) {
      case 'start': {
        const live = await this.#starts.start({ record, box, ...action }, this.#onChange(record))
        if (live !== null) this.#runs.add(record, live)
        return
      }
      case 'end':
        return this.#end(record, action)
      case 'halt':
        return this.#deps.forks.halt(action.fork)
      case 'fail': {
        const fork = record[action.slot]?.fork
        await this.#write(failedCandidate(record, action, this.#deps))
        // Of one that failed nothing goes on.
        return fork ? this.#deps.forks.halt(fork) : undefined
      }
      case 'switch':
        return this.#switch(record)
      case 'drain':
        return this.#drain(record)
      case 'bury': {
        const { instance } = action
        await this.#write({ ...record, retired: record.retired.filter((each) => each !== instance) })
        for (const { execId } of instance.runs)
          await this.#deps.outputs.remove({ boxId: hostOf(record, instance), execId }).catch(() => undefined)
        if (instance.fork !== null) await this.#deps.forks.sweep()
      }
    }
  }

  #end(record: ServiceRecord, { instance, drains }: Extract<ServiceAction, { kind: 'end' }>): void {
    const live = this.#runs.find(record, instance)
    if (live === null) return
    const drain = drains ? () => this.#drains.end(record.boxId, instance) : null
    const onError = (error: unknown): void => this.#retryLater(keyOf(record), error)
    this.#endings.begin({ live, spec: instance.spec, drain, onError })
  }

  #hurry(record: ServiceRecord, instance: InstanceRecord): void {
    const live = this.#runs.find(record, instance)
    if (live !== null) this.#endings.hurry(live)
  }

  async #switch(record: ServiceRecord): Promise<void> {
    const { clock, traffic } = this.#deps
    if (record.next === null) return
    const bytesOf = (instance: InstanceRecord): number => this.bytesOf(record, instance)
    const at = clock.now()
    await this.#write(switchedToNext(record, record.next, { by: record.next.by, at, bytesOf }))
    await traffic.settle(record.boxId)
  }

  // No rollback comes between: its turn is another.
  async #drain(record: ServiceRecord): Promise<void> {
    const live = this.#runs.find(record, record.previous)
    if (record.previous !== null && live !== null) await this.#drains.cutOff(record.boxId, record.previous, live)
  }

  // One that was changed meanwhile is looked at again.
  async #write(record: ServiceRecord): Promise<void> {
    await this.#deps.store.services.replace(bumped(record, this.#deps.clock.now()))
  }

  /** Writes the ends of runs that have ended, if that is not written yet; whether there were any. */
  async #recordEnd(record: ServiceRecord): Promise<boolean> {
    const instance = instancesOf(record).find((each) => {
      const live = this.#runs.find(record, each)
      return live === null ? lastRun(each)?.end === null : live.ended !== null
    })
    const run = lastRun(instance ?? null)
    if (instance === undefined || run === null) return false
    const live = this.#runs.find(record, instance)
    if (run.end === null) await this.#starts.writeEnd(record, { instance, run, end: live?.ended?.end ?? null })
    if (live !== null) {
      this.#runs.remove(record, live)
      await live.held.forget()
    }
    this.#changed(record)
    return true
  }

  // Without a record nothing of it may go on.
  async #forget(key: ServiceKey): Promise<void> {
    const lives = this.#runs.of(key)
    for (const live of lives) this.#runs.remove(key, live)
    this.#names.get(key.boxId)?.delete(key.name)
    if (this.#names.get(key.boxId)?.size === 0) this.#names.delete(key.boxId)
    await Promise.all(lives.map((live) => discardDetached(live.held, this.#deps)))
    await this.#deps.forks.sweep()
    this.#changed(key)
  }

  #retryLater(key: string, error: unknown): void {
    this.#deps.logger.error('a service could not be brought to what is wanted', { service: key, error })
    this.#queue.addLater(key, RETRY_MS)
  }

  #onChange(key: ServiceKey): () => void {
    return () => {
      this.#changed(key)
      this.wake(key)
    }
  }

  // Others may wait for it to be ready.
  #changed({ boxId, name }: ServiceKey): void {
    this.#waiters.notify(keyOf({ boxId, name }))
    for (const other of this.#names.get(boxId) ?? []) {
      const key = { boxId, name: other }
      if (other !== name && this.#runs.of(key).every(({ isTrial }) => isTrial)) this.#queue.add(keyOf(key))
    }
  }

  #note({ boxId, name }: ServiceKey): void {
    const names = this.#names.get(boxId) ?? new Set()
    this.#names.set(boxId, names.add(name))
  }
}

const RETRY_MS = 1_000
const TURN_MS = 20_000
const MAX_TURNS = 100
/** Versions of a service that take their time to end. */
const RETIRED_MAX = 4
