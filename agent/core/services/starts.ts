import { createKeyedLock } from '../../../shared/locks.ts'
import type { Logger } from '../../../shared/log.ts'
import type { DetachedEnd } from '../../ports/boxes/runtime.ts'
import type { ExecOutputs } from '../../ports/exec/outputs.ts'
import type { InstanceRecord, RunEnd, RunRecord, ServiceRecord } from '../../ports/store/services.ts'
import type { BoxRecord, Store } from '../../ports/store/store.ts'
import { bumped } from '../common/edit-record.ts'
import { forkOf, hostOf, lastRun } from '../common/service-instances.ts'
import type { Forks } from './forks.ts'
import { choosePort, type StartSlot } from './ports.ts'
import { monitorRun, type RunMonitor, type RunMonitorDeps, requestOf } from './run-monitor.ts'
import type { ServiceKey } from './run-registry.ts'
import { droppedRuns, withEnd, withNewRun } from './runs.ts'
import type { Traffic } from './traffic.ts'

export interface StartsDeps extends RunMonitorDeps {
  store: Store
  outputs: ExecOutputs
  traffic: Traffic
  forks: Forks
  logger: Logger
}

/** A version of a service that is to be started in a box that runs. */
export interface Start {
  record: ServiceRecord
  box: BoxRecord
  slot: StartSlot
  isFresh: boolean
}

/** Starts runs of services, and records how they ended. */
export interface Starts {
  /** What runs now; null: the record has changed meanwhile, or nothing could be started, which it says. */
  start(start: Start, onChange: () => void): Promise<RunMonitor | null>
  /** Writes the end of a run; `end` null: nobody knows how. One that is not in the record is a success. */
  writeEnd(key: ServiceKey, of: { instance: InstanceRecord; run: RunRecord; end: DetachedEnd | null }): Promise<void>
  /** Bytes that the last run of a version has written so far. */
  bytesOf(key: ServiceKey, instance: InstanceRecord): number
}

/** One start at a time in each box, so that no two get one port. */
export function createStarts(deps: StartsDeps): Starts {
  const { store, runtime, clock, outputs, traffic, forks, logger } = deps
  const boxes = createKeyedLock()
  const bytesOf: Starts['bytesOf'] = (key, instance) => {
    const place = { boxId: hostOf(key, instance), execId: lastRun(instance)?.execId ?? '' }
    return outputs.read(place, { stream: 'stdout', offset: 0, maxBytes: 0 }).totalBytes
  }
  const writeEnd: Starts['writeEnd'] = async (key, { instance, run, end }) => {
    const logBytes = bytesOf(key, instance)
    const { exitCode, signal, outOfMemory, endedAt } = end ?? { ...UNKNOWN_END, endedAt: clock.now() }
    const runEnd: RunEnd = { exitCode, signal, outOfMemory, endedAt, logBytes }
    for (;;) {
      const record = await store.services.get(key.boxId, key.name)
      if (record === null) return
      const next = withEnd(record, run.execId, runEnd)
      if (next === record || (await store.services.replace(bumped(next, clock.now())))) return
    }
  }
  // The run is in the record before it is started: whoever comes after a crash finds it, and starts none beside it.
  const begin = ({ record, box, slot, isFresh }: Start): Promise<ServiceRecord | null> =>
    boxes.run(box.id, async () => {
      const others = (await store.services.of(box.id)).filter(({ name }) => name !== record.name)
      const port = choosePort(record, others, slot)
      const now = clock.now()
      const next = bumped(withNewRun(record, { slot, isFresh, port, boxSince: box.observed.since, now }), now)
      return (await store.services.replace(next)) ? next : null
    })
  // One that cannot be reached runs all the same.
  const settle = (boxId: string): Promise<void> =>
    traffic.settle(boxId).catch((error: unknown) => logger.warn('requests do not follow a service', { boxId, error }))
  return {
    bytesOf,
    writeEnd,
    start: async (start, onChange) => {
      const { record, box, slot } = start
      const next = await begin(start)
      const instance = next?.[slot] ?? null
      const run = lastRun(instance)
      if (next === null || instance === null || run === null) return null
      const { execId } = run
      const host = forkOf(box, instance.fork)
      for (const each of droppedRuns(record, next))
        await outputs.remove({ boxId: host.id, execId: each.execId }).catch(() => undefined)
      const isMoved = instance.port !== (record[slot]?.port ?? null)
      const { command } = instance.spec
      const task = { ...requestOf(host, record.name, instance), command, mergesOutput: true, endsWhole: true }
      try {
        if (instance.fork !== null) await forks.start(box, instance.fork)
        if (isMoved || instance.fork !== null) await settle(box.id)
        const { held } = await runtime.hold(host.id, execId, { ...task, stdin: NOTHING, timeoutMs: null })
        return monitorRun(deps, { box, name: record.name, instance, held, isTrial: slot !== 'active' }, onChange)
      } catch (error) {
        logger.warn('a service could not be started', { box: box.id, service: record.name, error })
        await outputs.remove({ boxId: host.id, execId }).catch(() => undefined)
        await writeEnd(record, { instance, run, end: null })
        return null
      }
    },
  }
}

const UNKNOWN_END = { exitCode: null, signal: null, outOfMemory: false }
const NOTHING = new Uint8Array(0)
