import { expect, test } from '@jest/globals'
import { createServiceObserver, type RunRegistry } from '../../../agent/core/services/observer.ts'
import type { RunMonitor } from '../../../agent/core/services/run-monitor.ts'
import { stateOf } from '../../../agent/core/services/state.ts'
import type { BoxObserved } from '../../../agent/ports/store/boxes.ts'
import type { Store } from '../../../agent/ports/store/store.ts'
import { boxRecord } from '../../helpers/boxes/box-records.ts'
import { ran, serviceRecord } from '../../helpers/services/records.ts'

// The agent learns of the end of the process after the end of the box.
test.each([
  ['running', 'running'],
  ['stopped', 'stopped'],
] as const)('a service of a box that is %s is %s, before the end of its run is handled', async (status, state) => {
  const run = { ended: null, isEnding: false, isReady: true, why: null } as RunMonitor
  const observed: BoxObserved = { ...boxRecord().observed, status }
  const observer = createServiceObserver({
    store: {} as Store,
    readBox: async () => boxRecord({ observed }),
    clock: { now: () => 1_000 } as Parameters<typeof createServiceObserver>[0]['clock'],
    runs: { find: () => run } as unknown as RunRegistry,
    terminator: { isCutOff: () => false },
  })
  const service = await observer.observe(ran(serviceRecord(), null))
  expect([stateOf(service).state, service.monitor]).toEqual([state, state === 'running' ? run : null])
})
