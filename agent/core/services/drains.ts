import type { Clock } from '../../ports/host/clock.ts'
import type { InstanceRecord, ServiceRecord } from '../../ports/store/services.ts'
import type { RunMonitor } from './run-monitor.ts'
import type { Traffic } from './traffic.ts'

/** Lets the requests to versions that are no longer active come to their end. */
export interface Drains {
  /** Whether no request is left that a version had until it ceased to be active. */
  isDone(previous: ServiceRecord['previous'], live: RunMonitor | null): boolean
  /** Cuts off what is left to the version before; nothing makes it active again meanwhile. */
  cutOff(boxId: string, previous: NonNullable<ServiceRecord['previous']>, live: RunMonitor): Promise<void>
  /** Resolves once no request is left to a version that will not be active again, or its grace is over. */
  end(boxId: string, instance: InstanceRecord): Promise<void>
}

/** Knows what this process has drained. */
export function createDrains({ traffic, clock }: { traffic: Traffic; clock: Clock }): Drains {
  const done = new WeakMap<RunMonitor, number>()
  return {
    isDone: (previous, live) => previous !== null && live !== null && done.get(live) === previous.since,
    cutOff: async (boxId, { port, since }, live) => {
      if (port !== null) await Promise.race([traffic.drain({ boxId, port }, 0), clock.sleep(CUT_OFF_MS)])
      done.set(live, since)
    },
    end: async (boxId, { port, spec }) => {
      await traffic.settle(boxId)
      if (port !== null) await traffic.drain({ boxId, port }, spec.graceSeconds * 1000)
    },
  }
}

const CUT_OFF_MS = 5_000
