import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { RunStarterDeps } from '../../../agent/core/services/run-starter.ts'
import { ServiceSupervisor } from '../../../agent/core/services/supervisor.ts'
import type { DetachedExec } from '../../../agent/ports/boxes/runtime.ts'
import type { Store } from '../../../agent/ports/store/store.ts'
import { boxRecord } from '../../helpers/boxes/box-records.ts'
import { serviceRecord } from '../../helpers/services/records.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'
import { useTemporaryStore } from '../../helpers/store/temporary-store.ts'

const BOX = 'box_a'
let store: Store
let supervisor: ServiceSupervisor
let probed: PromiseWithResolvers<string | null>
/** Names of services whose records were read, and names of started services. */
let reads: string[]
let started: string[]

useTemporaryStore((opened) => {
  store = opened
})

beforeEach(async () => {
  reads = []
  started = []
  probed = Promise.withResolvers()
  const box = boxRecord({ id: BOX })
  await store.boxes.insert({ ...box, observed: { ...box.observed, status: 'running' } })
  const get: Store['services']['get'] = (boxId, name) => {
    reads.push(name)
    return store.services.get(boxId, name)
  }
  const deps = {
    store: { boxes: store.boxes, services: { ...store.services, get } },
    runtime: {
      execDetached: async (boxId: string, execId: string, { environment }: { environment: Record<string, string> }) => {
        started.push(environment['BOX_SERVICE'] ?? '')
        const end = Promise.withResolvers<null>()
        const detached = {
          ...{ boxId, execId, ended: end.promise },
          signal: async () => end.resolve(null),
          forget: async () => undefined,
        }
        return { detached: detached as unknown as DetachedExec }
      },
    },
    network: { addressOf: async () => '10.0.0.2' },
    prober: { probe: () => probed.promise },
    probeTurns: { enter: async () => undefined },
    outputs: { read: () => ({ totalBytes: 0 }), remove: async () => undefined },
    traffic: { settle: async () => undefined },
    clock: { now: () => 1, sleep: () => new Promise<void>(() => undefined) },
    ...{ forks: {}, logger: silentLogger, actorContext: { current: () => null } },
  }
  supervisor = new ServiceSupervisor(deps as unknown as RunStarterDeps)
})

afterEach(() => supervisor.close())

const define = async (name: string, needs: string[] = [], isProbed = false): Promise<void> => {
  const readiness = isProbed ? { probe: { kind: 'tcp' } as const, intervalMs: 1, timeoutMs: 1, threshold: 1 } : null
  const record = serviceRecord({ needs, readiness, port: isProbed ? 8080 : null }, { boxId: BOX, name })
  await store.services.insert(record, 10)
  supervisor.wake({ boxId: BOX, name })
}
const isReady = (name: string): Promise<unknown> =>
  supervisor.until({ boxId: BOX, name }, ({ monitor }) => monitor?.isReady === true, 5_000)

test('a service that becomes ready wakes those that need it, and no others', async () => {
  await define('db', [], true)
  await store.services.insert(serviceRecord({}, { boxId: BOX, name: 'other', desired: 'stopped' }), 10)
  await define('bystander', ['other'])
  await define('app', ['db'])
  await supervisor.until({ boxId: BOX, name: 'app' }, ({ step }) => step.kind === 'blocked', 5_000)
  await supervisor.exclusive({ boxId: BOX, name: 'app' }, async () => undefined)
  reads.length = 0
  probed.resolve(null)
  await isReady('db')
  await isReady('app')
  expect(started).toContain('app')
  expect(reads).not.toContain('bystander')
})

test('a service that waits for others does not read their records, which may be long', async () => {
  await define('db', [], true)
  await supervisor.exclusive({ boxId: BOX, name: 'db' }, async () => undefined)
  reads.length = 0
  await define('app', ['db'])
  await supervisor.until({ boxId: BOX, name: 'app' }, ({ step }) => step.kind === 'blocked', 5_000)
  expect(new Set(reads)).toEqual(new Set(['app']))
})

test('a service that is deleted wakes those that waited for it', async () => {
  await define('db', [], true)
  await define('app', ['db'])
  await supervisor.until({ boxId: BOX, name: 'app' }, ({ step }) => step.kind === 'blocked', 5_000)
  const record = await store.services.get(BOX, 'db')
  await store.services.remove(BOX, 'db', record?.version ?? 0)
  supervisor.wake({ boxId: BOX, name: 'db' })
  await isReady('app')
  expect(started).toContain('app')
})
