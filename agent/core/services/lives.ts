import type { InstanceRecord } from '../../ports/store/services.ts'
import { lastRun } from '../common/service-instances.ts'
import type { LiveRun } from './live.ts'

/** A service by its box and name. */
export interface ServiceKey {
  boxId: string
  name: string
}

/** Runs that go on, or whose ends are not recorded yet, by service; bounded by the versions that services keep. */
export interface LiveRuns {
  add(key: ServiceKey, live: LiveRun): void
  remove(key: ServiceKey, live: LiveRun): void
  of(key: ServiceKey): LiveRun[]
  /** The last run of a version, if it is there. */
  find(key: ServiceKey, instance: InstanceRecord | null): LiveRun | null
  count(): number
}

/** None at first. */
export function createLiveRuns(): LiveRuns {
  const lives = new Map<string, Map<string, LiveRun>>()
  return {
    add: (key, live) => {
      const runs = lives.get(keyOf(key)) ?? new Map<string, LiveRun>()
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
