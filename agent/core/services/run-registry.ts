import type { InstanceRecord } from '../../ports/store/services.ts'
import { lastRun } from '../common/service-instances.ts'
import type { RunMonitor } from './run-monitor.ts'

/** A service by its box and name. */
export interface ServiceKey {
  boxId: string
  name: string
}

/** Runs that go on, or whose ends are not recorded yet, by service; bounded by the versions that services keep. */
export interface RunRegistry {
  add(key: ServiceKey, live: RunMonitor): void
  remove(key: ServiceKey, live: RunMonitor): void
  of(key: ServiceKey): RunMonitor[]
  /** The last run of a version, if it is there. */
  find(key: ServiceKey, instance: InstanceRecord | null): RunMonitor | null
  count(): number
}

/** None at first. */
export function createRunRegistry(): RunRegistry {
  const lives = new Map<string, Map<string, RunMonitor>>()
  return {
    add: (key, live) => {
      const runs = lives.get(keyOf(key)) ?? new Map<string, RunMonitor>()
      lives.set(keyOf(key), runs.set(live.execId, live))
    },
    remove: (key, { execId }) => {
      const runs = lives.get(keyOf(key))
      runs?.delete(execId)
      if (runs?.size === 0) lives.delete(keyOf(key))
    },
    of: (key) => [...(lives.get(keyOf(key))?.values() ?? [])],
    find: (key, instance) => lives.get(keyOf(key))?.get(lastRun(instance)?.execId ?? '') ?? null,
    count: () => [...lives.values()].reduce((sum, { size }) => sum + size, 0),
  }
}

/** A key as text, and back. */
export function keyOf({ boxId, name }: ServiceKey): string {
  return `${boxId}/${name}`
}

/** What `keyOf` made a text of. */
export function parseKey(key: string): ServiceKey {
  const [boxId = '', name = ''] = key.split('/')
  return { boxId, name }
}
