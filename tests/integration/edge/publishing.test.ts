import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { DomainProofs, proofOf } from '../../../agent/core/edge/domain-proofs.ts'
import { createPublishing, type Publishing } from '../../../agent/core/edge/publishing.ts'
import { createLocalClaims } from '../../../agent/core/fleet/domain-claims.ts'
import { openSqliteStore } from '../../../agent/drivers/store/store.ts'
import type { BoxRecord } from '../../../agent/ports/store/boxes.ts'
import type { Store } from '../../../agent/ports/store/store.ts'
import { newId } from '../../../shared/ids.ts'
import { openAdmission } from '../../helpers/access/admission.ts'
import { boxRecord } from '../../helpers/boxes/box-records.ts'
import { serviceRecord } from '../../helpers/services/records.ts'

const address = { domain: 'localhost', scheme: 'http', port: 8081 } as const
const clock = { now: () => 5, sleep: async () => undefined }
const [SECRET, OLD_SECRET] = ['a'.repeat(43), 'b'.repeat(43)]

let directory: string
let store: Store
let publishing: Publishing
/** TXT records by name. Null means that domains need no proof. */
let texts: Map<string, string[]> | null

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-publishing-'))
  store = openSqliteStore(join(directory, 'boxyard.db'))
  texts = null
  const proofs = new DomainProofs({
    records: { of: async (name) => texts?.get(name) ?? [] },
    keys: () => [{ secret: SECRET }, { secret: OLD_SECRET }],
    address,
  })
  publishing = createPublishing({
    ...{ store, address, admission: openAdmission(store), claims: createLocalClaims(), clock },
    boxes: { get: async ({ project, name }) => (await store.boxes.get(project, name)) as BoxRecord },
    routes: { settle: async () => undefined, wake: () => undefined },
    reserved: ['front.example.org'],
    proofs: { check: async (project, domains) => (texts === null ? undefined : proofs.check(project, domains)) },
  })
})

afterEach(async () => {
  await store.close()
  rmSync(directory, { recursive: true, force: true })
})

async function running(name: string): Promise<BoxRecord> {
  const record = boxRecord({ id: newId('box', Date.now()), name })
  await store.boxes.insert(record)
  return record
}

const ref = (name: string) => ({ project: 'demo', name })

test.each([
  ['the host of the API', 'front.example.org'],
  ['a name below it', 'x.front.example.org'],
  ['a name above it, whose cookies it gets', 'example.org'],
])('%s is reserved, for boxes and services', async (_what, domain) => {
  const web = await running('web')
  await store.services.insert(serviceRecord({}, { boxId: web.id, name: 'site' }), 10)
  const error = { code: 'invalid_request', message: expect.stringContaining('/domains/1: is reserved by the operator') }
  const domains = ['shop.example.net', domain]
  await expect(publishing.publish(ref('web'), { domains }, null)).rejects.toMatchObject(error)
  const service = { ...ref('web'), service: 'site' }
  await expect(publishing.publishService(service, domains, null)).rejects.toMatchObject(error)
  expect((await store.boxes.byId(web.id))?.domains).toEqual([])
})

test('names beside a reserved one, and those of the deployment, are not reserved', async () => {
  await running('web')
  const domains = ['shop.example.org', 'notfront.example.org', 'shop.localhost']
  expect((await publishing.publish(ref('web'), { domains }, null)).domains).toEqual(domains)
})

test('a domain needs the TXT record of its project, which the error names', async () => {
  texts = new Map()
  const web = await running('web')
  await store.services.insert(serviceRecord({}, { boxId: web.id, name: 'site' }), 10)
  const publish = (domain: string) => publishing.publish(ref('web'), { domains: [domain] }, null)
  const proof = proofOf(SECRET, 'demo', 'shop.example.net')
  expect(proof).toMatch(/^boxyard=[\w-]{43}$/)
  const error = {
    code: 'domain_unverified',
    message: expect.stringContaining(`_boxyard-challenge.shop.example.net with the value ${proof}`),
  }
  await expect(publish('shop.example.net')).rejects.toMatchObject(error)
  texts.set('_boxyard-challenge.shop.example.net', [proofOf(SECRET, 'other', 'shop.example.net'), 'v=spf1'])
  await expect(publish('shop.example.net')).rejects.toMatchObject(error)
  texts.set('_boxyard-challenge.shop.example.net', [proofOf(SECRET, 'demo', 'other.example.net')])
  await expect(publish('shop.example.net')).rejects.toMatchObject(error)
  const service = { ...ref('web'), service: 'site' }
  await expect(publishing.publishService(service, ['shop.example.net'], null)).rejects.toMatchObject(error)
  texts.set('_boxyard-challenge.shop.example.net', ['v=spf1', proof])
  expect((await publish('shop.example.net')).domains).toEqual(['shop.example.net'])
})

test('what is published stays without its record, and names of the deployment need none', async () => {
  const name = '_boxyard-challenge.shop.example.net'
  texts = new Map([[name, [proofOf(OLD_SECRET, 'demo', 'shop.example.net')]]])
  await running('web')
  await publishing.publish(ref('web'), { domains: ['shop.example.net'] }, null)
  texts.delete(name)
  const { domains } = await publishing.publish(ref('web'), { domains: ['shop.example.net', 'shop.localhost'] }, null)
  expect(domains).toEqual(['shop.example.net', 'shop.localhost'])
  await publishing.unpublish(ref('web'), ['shop.example.net'], null)
  await expect(publishing.publish(ref('web'), { domains: ['shop.example.net'] }, null)).rejects.toMatchObject({
    code: 'domain_unverified',
  })
})
