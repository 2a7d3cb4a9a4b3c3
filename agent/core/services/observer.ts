import type { ExecOutputs } from '../../ports/exec/outputs.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { InstanceOutline, InstanceRecord, ServiceRecord } from '../../ports/store/services.ts'
import type { Store } from '../../ports/store/store.ts'
import { hostOf, lastRun } from '../common/service-instances.ts'
import type { BoxReader } from './box-reader.ts'
import { type InstancesWorld, planService, type ServiceStep } from './plan.ts'
import type { RunMonitor } from './run-monitor.ts'
import type { RunTerminator } from './run-terminator.ts'

/** A service: its record, its live runs, and the next step of its active version. */
export interface ObservedService {
  record: ServiceRecord
  /** The run of the active version. */
  monitor: RunMonitor | null
  monitorOf(instance: InstanceRecord | null): RunMonitor | null
  step: ServiceStep
  isBoxRunning: boolean
}

/** Observes services: reads their records, and looks up what runs. */
export interface ServiceObserver {
  observe(record: ServiceRecord): Promise<ObservedService>
  /** Collects the input of `planInstances`. `box` is null if it no longer exists. */
  worldOf(record: ServiceRecord, box: BoxRecord | null): Promise<InstancesWorld>
}

/** Takes live runs from `runs`, and finished cut-offs from `terminator`. */
export function createServiceObserver(deps: {
  store: Store
  clock: Clock
  readBox: BoxReader
  runs: RunRegistry
  terminator: Pick<RunTerminator, 'isCutOff'>
}): ServiceObserver {
  const { store, clock, readBox, runs, terminator } = deps
  const routingSince = clock.now()
  // Does not wait for a needed service that was removed.
  const unreadyOf = async ({ boxId, spec }: ServiceRecord): Promise<string[]> => {
    const unready: string[] = []
    for (const name of spec.needs) {
      const needed = await store.services.outline(boxId, name)
      if (needed !== null && runs.find(needed, needed.active)?.isReady !== true) unready.push(name)
    }
    return unready
  }
  const worldOf = async (record: ServiceRecord, box: BoxRecord | null): Promise<InstancesWorld> => {
    const { status, since } = box?.observed ?? { status: 'stopped', since: 0 }
    const boxSince = status === 'running' ? since : null
    const isLive = runs.find(record, record.active) !== null
    return {
      ...{ boxSince, isLive, now: clock.now(), routingSince },
      unready: isLive || boxSince === null ? [] : await unreadyOf(record),
      runOf: (instance) => runs.find(record, instance),
      isDrained: terminator.isCutOff(record.previous, runs.find(record, record.previous)),
    }
  }
  return {
    worldOf,
    observe: async (record) => {
      const box = await readBox(record.boxId)
      const world = await worldOf(record, box)
      // All processes of a stopped box have ended, also those whose end was not handled yet. A fork ends on its own.
      const monitorOf = (instance: InstanceRecord | null): RunMonitor | null =>
        box?.observed.status === 'stopped' && instance?.fork === null ? null : runs.find(record, instance)
      const step = planService(record, world)
      return { record, monitor: monitorOf(record.active), monitorOf, step, isBoxRunning: world.boxSince !== null }
    },
  }
}

/** Returns the bytes that the last run of a version has written so far. */
export function writtenBytes(outputs: ExecOutputs, key: ServiceKey, instance: InstanceRecord): number {
  const output = { boxId: hostOf(key, instance), execId: lastRun(instance)?.execId ?? '' }
  return outputs.read(output, { stream: 'stdout', offset: 0, maxBytes: 0 }).totalBytes
}

/** A service by its box and name. */
export interface ServiceKey {
  boxId: string
  name: string
}

/** Keeps runs in progress, and runs without a recorded end, by service. Bounded by the versions that services keep. */
export interface RunRegistry {
  add(key: ServiceKey, run: RunMonitor): void
  remove(key: ServiceKey, run: RunMonitor): void
  of(key: ServiceKey): RunMonitor[]
  /** Returns the last run of a version, if it is registered. */
  find(key: ServiceKey, instance: InstanceOutline | null): RunMonitor | null
  count(): number
}

/** Creates an empty registry. */
export function createRunRegistry(): RunRegistry {
  const services = new Map<string, Map<string, RunMonitor>>()
  return {
    add: (key, run) => {
      const runs = services.get(keyOf(key)) ?? new Map<string, RunMonitor>()
      services.set(keyOf(key), runs.set(run.execId, run))
    },
    remove: (key, { execId }) => {
      const runs = services.get(keyOf(key))
      runs?.delete(execId)
      if (runs?.size === 0) services.delete(keyOf(key))
    },
    of: (key) => [...(services.get(keyOf(key))?.values() ?? [])],
    find: (key, instance) => services.get(keyOf(key))?.get(lastRun(instance)?.execId ?? '') ?? null,
    count: () => [...services.values()].reduce((sum, { size }) => sum + size, 0),
  }
}

/** Formats a key as text. */
export function keyOf({ boxId, name }: ServiceKey): string {
  return `${boxId}/${name}`
}

/** Parses the text of `keyOf`. */
export function parseKey(key: string): ServiceKey {
  const [boxId = '', name = ''] = key.split('/')
  return { boxId, name }
}
