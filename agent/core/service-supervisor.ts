import type { Logger } from '../../shared/log.ts'
import type { ExecOutputs, OutputPlace } from '../ports/exec-outputs.ts'
import type { HeldEnd } from '../ports/runtime.ts'
import type { RunEnd, RunRecord, ServiceRecord } from '../ports/service-store.ts'
import type { BoxRecord, Store } from '../ports/store.ts'
import { discardHeld } from './held-exec.ts'
import { createKeyedQueue, type KeyedQueue } from './keyed-queue.ts'
import { followRun, type LiveRun, type LiveRunDeps, requestOf } from './service-live.ts'
import { planService, type ServiceStep, type ServiceWorld } from './service-plan.ts'
import { bumped } from './service-records.ts'
import { droppedRuns, withEnd, withNewRun } from './service-runs.ts'
import { createWaiters } from './waiters.ts'

export interface SupervisorDeps extends LiveRunDeps {
  store: Store
  outputs: ExecOutputs
  logger: Logger
}

/** A service by its box and name. */
export interface ServiceKey {
  boxId: string
  name: string
}

/** A service as far as it has come. `step` is what comes next. */
export interface ServiceSight {
  record: ServiceRecord
  live: LiveRun | null
  step: ServiceStep
  isBoxRunning: boolean
}

/** Moves services towards what is wanted of them, one step of each at a time: observe → plan → act. */
export class ServiceSupervisor {
  readonly #deps: SupervisorDeps
  readonly #lives = new Map<string, LiveRun>()
  /** Names of the services of each box that has any. */
  readonly #names = new Map<string, Set<string>>()
  readonly #graces = new Map<string, AbortController>()
  readonly #waiters = createWaiters()
  readonly #queue: KeyedQueue
  #isClosed = false

  constructor(deps: SupervisorDeps) {
    this.#deps = deps
    this.#queue = createKeyedQueue({
      work: (key) => this.#reconcile(parseKey(key)),
      onError: (key, error) => {
        deps.logger.error('a service could not be brought to what is wanted', { service: key, error })
        this.#queue.addLater(key, RETRY_MS)
      },
    })
  }

  /** What services wrote, which is kept. */
  async outputs(): Promise<OutputPlace[]> {
    const all = await this.#deps.store.services.all()
    return all.flatMap(({ boxId, active }) => (active?.runs ?? []).map(({ execId }) => ({ boxId, execId })))
  }

  /** Takes up what runs since before this process; call once, before any request, and after the boxes were taken up. */
  async recover(): Promise<void> {
    const { store, runtime, logger } = this.#deps
    const held = new Map((await runtime.held()).map((each) => [each.execId, each]))
    for (const record of await store.services.all()) {
      const box = await store.boxes.byId(record.boxId)
      this.#note(record)
      for (const run of record.active?.runs ?? []) {
        const each = held.get(run.execId)
        if (each === undefined) continue
        if (run.end !== null || box === null) void each.forget()
        else this.#lives.set(keyOf(record), followRun(this.#deps, { box, record, held: each }, this.#onChange(record)))
      }
      this.#queue.add(keyOf(record))
    }
    if (this.#lives.size > 0) logger.info('services go on', { services: this.#lives.size })
  }

  /** Something of the record has changed, or of its box. A stop under way goes on; with `hurry` it no longer waits. */
  wake(key: ServiceKey, { hurry = false } = {}): void {
    if (hurry) this.#graces.get(keyOf(key))?.abort()
    this.#note(key)
    this.#queue.add(keyOf(key))
  }

  /** The box has changed. */
  wakeBox(boxId: string): void {
    for (const name of this.#names.get(boxId) ?? []) this.wake({ boxId, name })
  }

  /** As it is now; null if there is none. */
  async see(key: ServiceKey): Promise<ServiceSight | null> {
    const record = await this.#deps.store.services.get(key.boxId, key.name)
    return record ? this.#sight(record) : null
  }

  /** As `see` gives it once `isDone`, or after `waitMs`. */
  async until(key: ServiceKey, isDone: (sight: ServiceSight) => boolean, waitMs: number): Promise<ServiceSight | null> {
    const timer = new AbortController()
    const wish = { read: () => this.see(key), timeout: this.#deps.clock.sleep(waitMs, timer.signal) }
    const isOver = (sight: ServiceSight | null): boolean => sight === null || isDone(sight)
    return this.#waiters.until(keyOf(key), { ...wish, isDone: isOver }).finally(() => timer.abort())
  }

  /** Ends after the step that each service is in; what runs goes on. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const grace of this.#graces.values()) grace.abort()
    await this.#queue.close()
  }

  async #reconcile(key: ServiceKey): Promise<void> {
    for (let turn = 0; turn < MAX_TURNS && !this.#isClosed; turn++) {
      const record = await this.#deps.store.services.get(key.boxId, key.name)
      if (record === null) return this.#forget(key)
      const box = await this.#deps.store.boxes.byId(key.boxId)
      if (box === null) return this.#forget(key)
      if (await this.#recordEnd(record)) continue
      const { step, live } = await this.#sight(record, box)
      if (step.kind === 'start') await this.#start(record, box, step.isFresh)
      else if (step.kind === 'stop' && live !== null) await this.#stop(record, live)
      else {
        if (step.kind === 'wait') this.#queue.addLater(keyOf(key), step.ms)
        return
      }
      this.#changed(key)
    }
  }

  async #sight(record: ServiceRecord, box?: BoxRecord | null): Promise<ServiceSight> {
    const { store, clock } = this.#deps
    const owner = box === undefined ? await store.boxes.byId(record.boxId) : box
    const { status, since } = owner?.observed ?? { status: 'stopped', since: 0 }
    const live = this.#lives.get(keyOf(record)) ?? null
    const boxSince = status === 'running' ? since : null
    const unready = live === null && boxSince !== null ? await this.#unready(record) : []
    const world: ServiceWorld = { boxSince, isLive: live !== null, unready, now: clock.now() }
    return { record, live, step: planService(record, world), isBoxRunning: boxSince !== null }
  }

  // What is not there any more is not waited for.
  async #unready({ boxId, spec }: ServiceRecord): Promise<string[]> {
    const unready: string[] = []
    for (const name of spec.needs) {
      if (this.#lives.get(keyOf({ boxId, name }))?.isReady === true) continue
      if (await this.#deps.store.services.get(boxId, name)) unready.push(name)
    }
    return unready
  }

  // The run is in the record before it is started: whoever comes after a crash finds it, and starts none beside it.
  async #start(record: ServiceRecord, box: BoxRecord, isFresh: boolean): Promise<void> {
    const { store, runtime, clock, outputs, logger } = this.#deps
    const now = clock.now()
    const next = withNewRun(bumped(record, now), { isFresh, boxSince: box.observed.since, now })
    if (!(await store.services.replace(next))) return
    await this.#removeOutputs(record.boxId, droppedRuns(record, next))
    const run = next.active?.runs.at(-1)
    if (run === undefined) return
    const { execId } = run
    const command = next.active?.spec.command ?? []
    const task = { ...requestOf(box, next), command, mergesOutput: true, endsWhole: true }
    try {
      const { held } = await runtime.hold(box.id, execId, { ...task, stdin: NOTHING, timeoutMs: null })
      this.#lives.set(keyOf(record), followRun(this.#deps, { box, record: next, held }, this.#onChange(record)))
    } catch (error) {
      logger.warn('a service could not be started', { box: box.id, service: record.name, error })
      await outputs.remove({ boxId: box.id, execId }).catch(() => undefined)
      await this.#writeEnd(record, run, null)
    }
  }

  async #stop(record: ServiceRecord, live: LiveRun): Promise<void> {
    const { clock } = this.#deps
    const { stopSignal, graceSeconds } = record.active?.spec ?? record.spec
    const grace = new AbortController()
    const key = keyOf(record)
    this.#graces.set(key, grace)
    live.isEnding = true
    this.#changed(record)
    try {
      await live.held.signal(stopSignal)
      await Promise.race([live.held.ended, clock.sleep(graceSeconds * 1000, grace.signal)])
      if (this.#isClosed || live.ended !== null) return
      await live.held.signal('SIGKILL')
      await Promise.race([live.held.ended, clock.sleep(KILL_MS)])
      if (live.ended === null) throw new Error('A killed service has not ended.')
    } finally {
      this.#graces.delete(key)
      grace.abort()
    }
  }

  /** Writes the end of the last run, if it has ended and that is not written yet; whether it did. */
  async #recordEnd(record: ServiceRecord): Promise<boolean> {
    const key = keyOf(record)
    const live = this.#lives.get(key)
    const run = record.active?.runs.at(-1)
    if (live !== undefined && live.ended === null) return false
    if (run !== undefined && run.end === null) await this.#writeEnd(record, run, live?.ended?.end ?? null)
    if (live === undefined) return run !== undefined && run.end === null
    this.#lives.delete(key)
    await live.held.forget()
    this.#changed(record)
    return true
  }

  async #writeEnd(key: ServiceKey, run: RunRecord, end: HeldEnd | null): Promise<void> {
    const { store, clock, outputs } = this.#deps
    const place = { boxId: key.boxId, execId: run.execId }
    const logBytes = outputs.read(place, { stream: 'stdout', offset: 0, maxBytes: 0 }).totalBytes
    const { exitCode, signal, outOfMemory, endedAt } = end ?? { ...UNKNOWN_END, endedAt: clock.now() }
    const runEnd: RunEnd = { exitCode, signal, outOfMemory, endedAt, logBytes }
    for (;;) {
      const record = await store.services.get(key.boxId, key.name)
      if (record === null) return
      const next = withEnd(bumped(record, clock.now()), run.execId, runEnd)
      if (next.active === record.active || (await store.services.replace(next))) break
    }
    this.#changed(key)
  }

  // Without a record nothing of it may go on.
  async #forget(key: ServiceKey): Promise<void> {
    const live = this.#lives.get(keyOf(key))
    this.#lives.delete(keyOf(key))
    this.#names.get(key.boxId)?.delete(key.name)
    if (this.#names.get(key.boxId)?.size === 0) this.#names.delete(key.boxId)
    if (live !== undefined) await discardHeld(live.held, this.#deps)
    this.#changed(key)
  }

  async #removeOutputs(boxId: string, runs: readonly RunRecord[]): Promise<void> {
    for (const { execId } of runs) await this.#deps.outputs.remove({ boxId, execId }).catch(() => undefined)
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
      if (other !== name && !this.#lives.has(keyOf({ boxId, name: other })))
        this.#queue.add(keyOf({ boxId, name: other }))
    }
  }

  #note({ boxId, name }: ServiceKey): void {
    const names = this.#names.get(boxId) ?? new Set()
    this.#names.set(boxId, names.add(name))
  }
}

function keyOf({ boxId, name }: ServiceKey): string {
  return `${boxId}/${name}`
}

function parseKey(key: string): ServiceKey {
  const [boxId = '', name = ''] = key.split('/')
  return { boxId, name }
}

const UNKNOWN_END = { exitCode: null, signal: null, outOfMemory: false }
const NOTHING = new Uint8Array(0)
const RETRY_MS = 1_000
const KILL_MS = 10_000
const MAX_TURNS = 100
