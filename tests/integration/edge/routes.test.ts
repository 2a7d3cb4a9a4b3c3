import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { createPublishing, DOMAINS_MAX, type Publishing } from '../../../agent/core/edge/publishing.ts'
import { createEdgeRoutes, type EdgeRoutes } from '../../../agent/core/edge/routes.ts'
import { createDomainClaims, type DomainClaims } from '../../../agent/core/fleet/domain-claims.ts'
import { createLocalDomains } from '../../../agent/drivers/fleet/domains-local.ts'
import { openSqliteStore } from '../../../agent/drivers/store/store.ts'
import type { EdgeRoute } from '../../../agent/ports/edge/edge.ts'
import type { BoxRecord } from '../../../agent/ports/store/boxes.ts'
import type { Store } from '../../../agent/ports/store/store.ts'
import { newId } from '../../../shared/ids.ts'
import { openAdmission } from '../../helpers/access/admission.ts'
import { boxRecord } from '../../helpers/boxes/box-records.ts'
import { serviceRecord } from '../../helpers/services/records.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const address = { domain: 'localhost', scheme: 'http', port: 8081 } as const
const clock = { now: () => 5, sleep: async () => undefined }

let directory: string
let store: Store
let routes: EdgeRoutes
let publishing: Publishing
let claims: DomainClaims
/** Routes of the edge, and the number of changes sent to it. */
let served: Map<string, EdgeRoute>
let changes: number
/** Hosts served each time a box was about to gain a domain. */
let gained: string[][]
/** Addresses of running boxes. */
let addresses: Map<string, string>

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-routes-'))
  store = openSqliteStore(join(directory, 'boxyard.db'))
  claims = createDomainClaims({ store, domains: createLocalDomains(), address, clock, logger: silentLogger })
  served = new Map()
  addresses = new Map()
  changes = 0
  const edge = {
    change: async ({ set = [], remove = [] }: { set?: readonly EdgeRoute[]; remove?: readonly string[] }) => {
      changes += 1
      for (const host of remove) served.delete(host)
      for (const route of set) served.set(route.host, route)
    },
    drain: async () => undefined,
  }
  const network = { addressOf: async (boxId: string) => addresses.get(boxId) ?? null }
  gained = []
  const onGain = async () => void gained.push([...served.keys()])
  routes = createEdgeRoutes({ store, network, edge, address, onNewDomain: onGain, claims, clock, logger: silentLogger })
  await routes.open(async () => undefined)
  const boxes = {
    get: async ({ project, name }: { project: string; name: string }) => {
      const record = await store.boxes.get(project, name)
      if (!record) throw new Error('no such box')
      return record
    },
  }
  publishing = createPublishing({
    store,
    boxes,
    routes,
    address,
    admission: openAdmission(store),
    claims,
    clock,
    reserved: [],
    proofs: null,
  })
})

afterEach(async () => {
  await store.close()
  rmSync(directory, { recursive: true, force: true })
})

async function running(name: string, changes: Partial<BoxRecord> = {}): Promise<BoxRecord> {
  const record = boxRecord({ id: newId('box', Date.now()), name, ...changes })
  const observed = { ...record.observed, status: 'running' as const }
  await store.boxes.insert({ ...record, observed })
  addresses.set(record.id, `10.0.0.${addresses.size + 1}`)
  await routes.settle(record.id)
  return record
}

const ref = (name: string) => ({ project: 'demo', name })
const hosts = (): string[] => [...served.keys()].toSorted()

test('a running box is served at its name, at port 8080 unless it sets another', async () => {
  const web = await running('web')
  expect(served.get('web--demo.localhost')).toEqual({
    ...{ host: 'web--demo.localhost', project: 'demo', boxId: web.id },
    ...{ auth: 'token', address: '10.0.0.1', port: 8080 },
  })
  await publishing.publish(ref('web'), { port: 3000, auth: 'public' }, null)
  expect(served.get('web--demo.localhost')).toMatchObject({ auth: 'public', port: 3000 })
  const before = changes
  await routes.settle(web.id)
  expect(changes).toBe(before)
})

test('one that stops or is deleted is no longer served, and one that runs again is', async () => {
  const { id } = await running('web', { domains: [] })
  const record = (await store.boxes.byId(id)) as BoxRecord
  const observed = { ...record.observed, status: 'stopped' as const }
  await store.boxes.replace({ ...record, observed, version: 2 })
  await routes.settle(id)
  expect(hosts()).toEqual([])
  expect(await routes.lookup('web--demo.localhost')).toMatchObject({ route: null, at: { boxId: id, port: 8080 } })
  await store.boxes.replace({ ...record, version: 3 })
  await routes.settle(id)
  expect(hosts()).toEqual(['web--demo.localhost'])
  await store.boxes.remove(id, 3, { id, root: record.root, createdAt: 1 })
  await routes.settle(id)
  expect(hosts()).toEqual([])
  expect(await routes.lookup('web--demo.localhost')).toBeNull()
})

test('a late sync of a box leaves the address that another has by now', async () => {
  const { id } = await running('web')
  const record = (await store.boxes.byId(id)) as BoxRecord
  await store.boxes.replace({ ...record, observed: { ...record.observed, status: 'stopped' }, version: 2 })
  addresses.clear()
  const next = await running('next')
  await routes.settle(id)
  expect(await routes.boxAt({ address: '10.0.0.1', port: 8080 })).toEqual({ project: 'demo', boxId: next.id })
})

test('a held one is not served, but looked up, until all holds are released', async () => {
  const { id } = await running('web')
  const record = (await store.boxes.byId(id)) as BoxRecord
  await store.boxes.replace({ ...record, observed: { ...record.observed, status: 'stopped' }, version: 2 })
  await routes.settle(id)
  const releases = [routes.hold(id), routes.hold(id)]
  await store.boxes.replace({ ...record, version: 3 })
  await routes.settle(id)
  expect(hosts()).toEqual([])
  expect(await routes.lookup('web--demo.localhost')).toMatchObject({ isHeld: true, route: { address: '10.0.0.1' } })
  releases[0]?.()
  await routes.settle(id)
  expect(hosts()).toEqual([])
  releases[1]?.()
  await routes.settle(id)
  expect(hosts()).toEqual(['web--demo.localhost'])
  expect(await routes.lookup('web--demo.localhost')).toMatchObject({ isHeld: false })
})

test('a service with a port has a name of its own', async () => {
  const { id } = await running('web')
  await store.services.insert(serviceRecord({ port: 9000 }, { boxId: id, name: 'api' }), 10)
  await store.services.insert(serviceRecord({}, { boxId: id, name: 'worker' }), 10)
  await routes.settle(id)
  expect(hosts()).toEqual(['api--web--demo.localhost', 'web--demo.localhost'])
  expect(served.get('api--web--demo.localhost')).toMatchObject({ port: 9000 })
  expect(await routes.lookup('worker--web--demo.localhost')).toMatchObject({ service: 'worker', at: null, route: null })
})

test('a domain belongs to one box or service, until it is given up', async () => {
  const { id } = await running('web')
  await running('other')
  await store.services.insert(serviceRecord({ port: 9000 }, { boxId: id, name: 'api' }), 10)
  const shop = ['shop.example.org', 'www.example.org']
  const { version } = await publishing.publish(ref('web'), { domains: shop }, null)
  expect(served.get('shop.example.org')).toMatchObject({ boxId: id, port: 8080 })
  const again = await publishing.publish(ref('web'), { domains: ['shop.example.org'] }, null)
  expect([again.version, again.domains]).toEqual([version, shop])
  for (const domains of [['shop.example.org'], ['new.example.org', 'www.example.org']]) {
    await expect(publishing.publish(ref('other'), { domains }, null)).rejects.toMatchObject({ code: 'domain_taken' })
    const taken = publishing.publishService({ ...ref('web'), service: 'api' }, domains, null)
    await expect(taken).rejects.toMatchObject({ code: 'domain_taken' })
  }
  expect(served.has('new.example.org')).toBe(false)
  await publishing.unpublish(ref('web'), ['www.example.org', 'never.example.org'], null)
  expect(served.has('www.example.org')).toBe(false)
  await publishing.publishService({ ...ref('web'), service: 'api' }, ['www.example.org'], null)
  expect(served.get('www.example.org')).toMatchObject({ boxId: id, port: 9000 })
  await publishing.unpublishService({ ...ref('web'), service: 'api' }, [], null)
  await publishing.publish(ref('other'), { domains: ['www.example.org'] }, null)
  await routes.settle(id)
  expect(served.get('www.example.org')?.boxId).not.toBe(id)
})

test('requests to the earlier owner of a domain end before the new one is served', async () => {
  await running('web')
  expect(gained).toEqual([])
  await publishing.publish(ref('web'), { domains: ['shop.example.com'] }, null)
  expect(gained).toEqual([['web--demo.localhost']])
  expect(hosts()).toEqual(['shop.example.com', 'web--demo.localhost'])
})

test('a box or service that is gone gives its domains up', async () => {
  const { id, root } = await running('web')
  await store.services.insert(serviceRecord({ port: 9000 }, { boxId: id, name: 'api' }), 10)
  await publishing.publish(ref('web'), { domains: ['shop.example.org'] }, null)
  await publishing.publishService({ ...ref('web'), service: 'api' }, ['api.example.org'], null)
  expect(await store.services.remove(id, 'api', 2)).toBe(true)
  await publishing.publish(ref('web'), { domains: ['api.example.org'] }, null)
  await store.boxes.remove(id, 3, { id, root, createdAt: 1 })
  const other = await running('other')
  await publishing.publish(ref('other'), { domains: ['api.example.org', 'shop.example.org'] }, null)
  await routes.settle(id)
  expect(served.get('shop.example.org')?.boxId).toBe(other.id)
})

test('an invalid publish is refused and changes nothing', async () => {
  await running('web')
  const reserved = publishing.publish(ref('web'), { domains: ['a.example.org', 'x--y.localhost'] }, null)
  await expect(reserved).rejects.toMatchObject({
    code: 'invalid_request',
    errors: [{ pointer: '/domains/1', detail: "is kept for boxes' own names" }],
  })
  await expect(publishing.publish(ref('web'), { domains: ['a.example.org'] }, '"9"')).rejects.toMatchObject({
    code: 'precondition_failed',
  })
  const many = Array.from({ length: DOMAINS_MAX + 1 }, (_, index) => `d${index}.example.org`)
  await expect(publishing.publish(ref('web'), { domains: many }, null)).rejects.toMatchObject({
    code: 'quota_exceeded',
  })
  expect(hosts()).toEqual(['web--demo.localhost'])
})

test('changes while the edge opens are applied afterwards', async () => {
  const record = boxRecord({ id: newId('box', Date.now()), name: 'web' })
  await store.boxes.insert({ ...record, observed: { ...record.observed, status: 'running' } })
  const told: string[][] = []
  const edge = {
    change: async ({ set = [] }: { set?: readonly EdgeRoute[] }) => void told.push(set.map(({ host }) => host)),
    drain: async () => undefined,
  }
  const network = { addressOf: async (boxId: string) => addresses.get(boxId) ?? null }
  const onGain = async (): Promise<void> => undefined
  const next = createEdgeRoutes({
    store,
    network,
    edge,
    address,
    onNewDomain: onGain,
    claims,
    clock,
    logger: silentLogger,
  })
  await next.settle(record.id)
  expect(told).toEqual([])
  await next.open(async (all) => {
    told.push(all.map(({ host }) => host))
    addresses.set(record.id, '10.0.0.9')
    await next.settle(record.id)
    expect(told).toEqual([[]])
  })
  expect(told).toEqual([[], ['web--demo.localhost']])
})

test('a start serves all recorded routes', async () => {
  await running('web', { urlSettings: { auth: 'public', wake: false, idle_stop_seconds: null } })
  await publishing.publish(ref('web'), { domains: ['shop.example.org'] }, null)
  await store.boxes.insert(boxRecord({ id: newId('box', Date.now()), name: 'resting' }))
  const network = { addressOf: async (boxId: string) => addresses.get(boxId) ?? null }
  const edge = { change: async () => undefined, drain: async () => undefined }
  const onGain = () => Promise.resolve()
  const next = createEdgeRoutes({
    store,
    network,
    edge,
    address,
    onNewDomain: onGain,
    claims,
    clock,
    logger: silentLogger,
  })
  let told: string[] = []
  await next.open(async (all) => void (told = all.map(({ host }) => host).toSorted()))
  expect(told).toEqual(hosts())
  expect(await next.lookup('resting--demo.localhost')).toMatchObject({ route: null })
})
