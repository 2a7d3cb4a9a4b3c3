import type { Clock } from '../../ports/host/clock.ts'
import type { InstanceRecord, ServiceRecord } from '../../ports/store/services.ts'
import type { BoxRecord, Store } from '../../ports/store/store.ts'
import type { Drains } from './drains.ts'
import { type InstancesWorld, planService, type ServiceStep } from './plan.ts'
import type { RunMonitor } from './run-monitor.ts'
import type { RunRegistry } from './run-registry.ts'

/** A service as far as it has come. `step` is what comes next for its active version. */
export interface ObservedService {
  record: ServiceRecord
  /** The run of the active version. */
  live: RunMonitor | null
  liveOf(instance: InstanceRecord | null): RunMonitor | null
  step: ServiceStep
  isBoxRunning: boolean
}

/** What is seen of services: what their records say, beside what runs. */
export interface ServiceObserver {
  of(record: ServiceRecord): Promise<ObservedService>
  /** What the next step of a service follows from; `box` null: it is gone. */
  worldOf(record: ServiceRecord, box: BoxRecord | null): Promise<InstancesWorld>
}

/** Sees by the runs of `lives`, and by what `drains` has brought to its end. */
export function createServiceObserver(deps: {
  store: Store
  clock: Clock
  lives: RunRegistry
  drains: Drains
}): ServiceObserver {
  const { store, clock, lives, drains } = deps
  // What is not there any more is not waited for.
  const unreadyOf = async ({ boxId, spec }: ServiceRecord): Promise<string[]> => {
    const unready: string[] = []
    for (const name of spec.needs) {
      const needed = await store.services.get(boxId, name)
      if (needed !== null && lives.find(needed, needed.active)?.isReady !== true) unready.push(name)
    }
    return unready
  }
  const worldOf = async (record: ServiceRecord, box: BoxRecord | null): Promise<InstancesWorld> => {
    const { status, since } = box?.observed ?? { status: 'stopped', since: 0 }
    const boxSince = status === 'running' ? since : null
    const isLive = lives.find(record, record.active) !== null
    return {
      ...{ boxSince, isLive, now: clock.now() },
      unready: isLive || boxSince === null ? [] : await unreadyOf(record),
      runOf: (instance) => lives.find(record, instance),
      isDrained: drains.isDone(record.previous, lives.find(record, record.previous)),
    }
  }
  return {
    worldOf,
    of: async (record) => {
      const world = await worldOf(record, await store.boxes.byId(record.boxId))
      const liveOf = (instance: InstanceRecord | null): RunMonitor | null => lives.find(record, instance)
      const step = planService(record, world)
      return { record, live: liveOf(record.active), liveOf, step, isBoxRunning: world.boxSince !== null }
    },
  }
}
