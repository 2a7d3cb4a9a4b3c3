import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { createDomainClaims, type DomainClaims, withDomains } from '../../../agent/core/fleet/domain-claims.ts'
import { openSqliteStore } from '../../../agent/drivers/store/store.ts'
import type { DomainOwner } from '../../../agent/ports/fleet/domains.ts'
import type { BoxRecord } from '../../../agent/ports/store/boxes.ts'
import type { Store } from '../../../agent/ports/store/store.ts'
import { newId } from '../../../shared/ids.ts'
import { claimOf } from '../../contract/fleet/directory-suite.ts'
import { boxRecord } from '../../helpers/boxes/box-records.ts'
import { eventually } from '../../helpers/eventually.ts'
import { createHomeTable, createTableDirectory } from '../../helpers/fleet/table-directory.ts'
import { createDomainTable, type DomainTable } from '../../helpers/fleet/table-domains.ts'
import { serviceRecord } from '../../helpers/services/records.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

let directory: string
let store: Store
let domains: DomainTable
let claims: DomainClaims
/** Functions that end the pauses before retries. */
let resume: (() => void)[]

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-domains-'))
  store = openSqliteStore(join(directory, 'boxyard.db'))
  domains = createDomainTable()
  resume = []
  const sleep = () => new Promise<void>((resolve) => resume.push(resolve))
  const clock = { now: () => 5, sleep }
  claims = createDomainClaims({ store, domains, address: { domain: 'boxes.test' }, clock, logger: silentLogger })
})
afterEach(async () => {
  claims.close()
  for (const wake of resume) wake()
  await store.close()
  rmSync(directory, { recursive: true, force: true })
})

async function makeBox(name: string): Promise<BoxRecord> {
  const record = boxRecord({ id: newId('box', Date.now()), name })
  await store.boxes.insert(record)
  return record
}
const ownerOf = ({ project, name, id }: BoxRecord, service: string | null = null): DomainOwner => ({
  project,
  box: name,
  uid: id,
  service,
})
const write = async (box: BoxRecord, ...hosts: string[]): Promise<BoxRecord> => {
  const next = { ...box, domains: hosts, version: box.version + 1 }
  expect(await store.boxes.publish(next)).toBe('stored')
  return next
}

test('a domain is claimed before the record has it, and given up if that fails', async () => {
  const box = await makeBox('web')
  await claims.claimWhile(ownerOf(box), ['a.test'], async () => {
    expect([...domains.owners.keys()]).toEqual(['a.test'])
    return write(box, 'a.test')
  })
  const failing = claims.claimWhile(ownerOf(box), ['b.test'], () => Promise.reject(new Error('The disk is full.')))
  await expect(failing).rejects.toThrow('The disk is full.')
  await eventually(() => !domains.owners.has('b.test'))
  expect([...domains.owners]).toEqual([['a.test', ownerOf(box)]])
})

test('of several of which one is taken none is kept', async () => {
  const box = await makeBox('web')
  const other = { project: 'other', box: 'x', uid: 'box_x', service: null }
  domains.owners.set('taken.test', other)
  let isWritten = false
  const failing = claims.claimWhile(ownerOf(box), ['a.test', 'taken.test', 'b.test'], async () => (isWritten = true))
  await expect(failing).rejects.toMatchObject({ code: 'domain_taken' })
  await eventually(() => domains.owners.size === 1)
  expect([isWritten, domains.owners.get('taken.test')]).toEqual([false, other])
})

test('what is being published is not given up by another change of the box', async () => {
  const box = await makeBox('web')
  let settling = Promise.resolve()
  await claims.claimWhile(ownerOf(box), ['a.test'], async () => {
    settling = claims.settle(box.id)
    await new Promise((resolve) => setImmediate(resolve))
    return write(box, 'a.test')
  })
  await settling
  expect([...domains.owners.keys()]).toEqual(['a.test'])
})

test('what the fleet could not be told is told once it is there', async () => {
  const box = await write(await makeBox('web'), 'a.test', 'b.test')
  await claims.settle(box.id)
  const changed = await write(box, 'b.test')
  domains.isAway = true
  await claims.settle(changed.id)
  expect([...domains.owners.keys()].toSorted()).toEqual(['a.test', 'b.test'])
  resume.shift()?.()
  await eventually(() => resume.length === 1)
  domains.isAway = false
  resume.shift()?.()
  await eventually(() => !domains.owners.has('a.test'))
})

test('a domain that a box of this cell gave up while the fleet was away is free for the next one', async () => {
  const [first, second] = [await makeBox('first'), await makeBox('second')]
  domains.owners.set('a.test', ownerOf(first))
  await claims.claimWhile(ownerOf(second), ['a.test'], () => write(second, 'a.test'))
  expect(domains.owners.get('a.test')).toEqual(ownerOf(second))
  // The domain can also move from the box to one of its services.
  const given = await write({ ...second, version: second.version + 1 })
  await store.services.insert(serviceRecord({}, { boxId: given.id, name: 'api' }), 10)
  await claims.claimWhile(ownerOf(given, 'api'), ['a.test'], async () => undefined)
  expect(domains.owners.get('a.test')).toEqual(ownerOf(given, 'api'))
})

test('no domain outlives the name of its box', async () => {
  const box = await makeBox('web')
  const homes = createHomeTable()
  const home = { kind: 'box', project: box.project, name: box.name } as const
  const plain = createTableDirectory(homes, 'aa')
  await plain.claim(claimOf(box.name, { ...home, uid: box.id }))
  domains.owners.set('a.test', ownerOf(box))
  const fleet = withDomains(plain, claims)
  domains.isAway = true
  await expect(fleet.release(home, box.id)).rejects.toMatchObject({ code: 'runtime_unavailable' })
  expect([homes.homes.size, domains.owners.size]).toEqual([1, 1])
  domains.isAway = false
  await fleet.release(home, box.id)
  expect([homes.homes.size, domains.owners.size]).toEqual([0, 0])
})

test('a start claims what the fleet has lost, gives up what no record has, and tells of what another has', async () => {
  const box = await write(await makeBox('web'), 'lost.test', 'stolen.test')
  const long = await makeBox(`a-box-of-a-name-${'x'.repeat(46)}`)
  domains.owners.set('stolen.test', { project: 'other', box: 'x', uid: 'box_x', service: null })
  domains.owners.set('left.test', ownerOf(box))
  expect(await claims.publishAll()).toEqual([
    expect.objectContaining({ code: 'domain_conflict', evidence: expect.stringContaining('"stolen.test"') }),
  ])
  expect([...domains.owners.keys()].toSorted()).toEqual([
    `${long.id.replace('_', '-')}.boxes.test`,
    'lost.test',
    'stolen.test',
  ])
})
