import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { createLeads, type Leads } from '../../../agent/core/edge/leads.ts'
import type { CellEdge } from '../../../agent/ports/edge/edge.ts'
import type { HomeName } from '../../../agent/ports/fleet/directory.ts'
import { createHomeTable, createTableDirectory, type HomeTable, homeKey } from '../../helpers/fleet/table-directory.ts'
import { createDomainTable, type DomainTable } from '../../helpers/fleet/table-domains.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const address = { domain: 'boxes.test', scheme: 'https', port: null } as const

let table: HomeTable
let domains: DomainTable
let leads: Leads
/** Hosts that the edge routes to another cell's edge. */
let led: Map<string, CellEdge>
/** Host names of this cell. */
let own: Set<string>
/** Names that were read from the directory because memory had none. `stored` is the directory's content. */
let reads: string[]
let stored: Map<string, string>
let now: number
/** Faults of unreachable edges, by address. */
let faults: Map<string, string>

beforeEach(() => {
  table = createHomeTable()
  domains = createDomainTable()
  led = new Map()
  own = new Set()
  reads = []
  stored = new Map()
  faults = new Map()
  now = 0
  setCell('bb', '10.0.0.2:8093')
  setCell('cc', '[2001:db8::3]:8093')
  const directory = createTableDirectory(table, 'aa')
  leads = createLeads({
    directory: {
      ...directory,
      read: async (name) => {
        reads.push(name.name)
        const cell = stored.get(name.name)
        if (cell !== undefined) setHome(name.name, cell)
        return directory.read(name)
      },
    },
    domains,
    hosts: { has: (host) => own.has(host) },
    edge: {
      lead: async ({ set = new Map(), remove = [] }) => {
        for (const host of remove) led.delete(host)
        for (const [host, to] of set) led.set(host, to)
      },
    },
    address,
    prober: { probe: async (target) => faults.get(target.address) ?? null },
    clock: { now: () => now, sleep: async () => undefined },
    logger: silentLogger,
  })
})
afterEach(() => leads.close())

function setCell(cell: string, edgeAddress: string | null): void {
  const rest = {
    node: cell,
    channelUrl: 'http://x',
    dataUrl: 'http://x',
    region: null,
    free: null,
    warm: 0,
    heartbeatAt: null,
  }
  table.cells.set(cell, { cell, edgeAddress, isReady: true, isDraining: false, ...rest })
}

function setHome(name: string, cell: string | null): void {
  const key: HomeName = { kind: 'box', project: 'demo', name }
  if (cell === null) table.homes.delete(homeKey(key))
  else table.homes.set(homeKey(key), { uid: `box_${name}`, cell, epoch: 1, phase: 'Live', createdBy: null, card: null })
  table.changes.notify(key)
}

const bb = { address: '10.0.0.2', port: 8093 }
const cc = { address: '2001:db8::3', port: 8093 }

describe('a host', () => {
  test('of a box of another cell, of its services and previews is led to the edge of that cell', async () => {
    setHome('web', 'bb')
    setHome('far', 'cc')
    const hosts = ['web--demo', 'api--web--demo', 'preview--api--web--demo'].map((label) => `${label}.boxes.test`)
    for (const host of hosts) expect(await leads.find(host)).toEqual(bb)
    expect(await leads.find('far--demo.boxes.test')).toEqual(cc)
    expect([...led]).toEqual([...hosts.map((host) => [host, bb]), ['far--demo.boxes.test', cc]])
  })

  test('of this cell, or of nobody, is not', async () => {
    setHome('mine', 'aa')
    setHome('web', 'bb')
    own.add('web--demo.boxes.test')
    for (const label of ['mine--demo', 'web--demo', 'nobody--demo', 'sign-in', 'a.b--c', 'box-01jd'])
      expect(await leads.find(`${label}.boxes.test`)).toBeNull()
    for (const host of ['boxes.test', 'web--demo.example.org', 'example.org']) expect(await leads.find(host)).toBeNull()
    expect(led.size).toBe(0)
  })

  test('that is published, or a label for a name that is too long, is led to the cell of its box', async () => {
    setHome('web', 'bb')
    const owner = { project: 'demo', box: 'web', uid: 'box_web', service: null }
    for (const host of ['shop.example.org', 's-12345.boxes.test']) {
      domains.owners.set(host, owner)
      expect(await leads.find(host)).toEqual(bb)
    }
    await domains.release('shop.example.org', 'box_web')
    expect([...led.keys()]).toEqual(['s-12345.boxes.test'])
  })

  test('that memory does not know of is read, as long as strangers do not ask too much', async () => {
    stored.set('new', 'bb')
    expect(await leads.find('new--demo.boxes.test')).toEqual(bb)
    for (let i = 0; i < 200; i++) await leads.find(`guess${i}--demo.boxes.test`)
    expect(reads).toHaveLength(50)
    stored.set('next', 'bb')
    expect(await leads.find('next--demo.boxes.test')).toBeNull()
    now += 1_000
    expect(await leads.find('next--demo.boxes.test')).toEqual(bb)
    table.fault = 'away'
    expect(await leads.find('later--demo.boxes.test')).toBeNull()
  })

  test('of a cell without an edge that can be reached is refused', async () => {
    for (const [name, edgeAddress] of [
      ['none', null],
      ['named', 'node-b:8093'],
    ] as const) {
      setCell(name, edgeAddress)
      setHome(name, name)
      await expect(leads.find(`${name}--demo.boxes.test`)).rejects.toMatchObject({ code: 'agent_unavailable' })
    }
    setHome('lost', 'zz')
    await expect(leads.find('lost--demo.boxes.test')).rejects.toMatchObject({ code: 'agent_unavailable' })
  })
})

describe('what the edge leads by itself', () => {
  const host = 'web--demo.boxes.test'

  test.each([
    ['its box comes to another cell', () => setHome('web', 'cc'), cc],
    ['its box comes here', () => setHome('web', 'aa'), undefined],
    ['its box is deleted', () => setHome('web', null), undefined],
  ])('changes when %s', async (_, change, expected) => {
    setHome('web', 'bb')
    await leads.find(host)
    change()
    expect(led.get(host)).toEqual(expected)
  })

  test('changes with the address of the cell', async () => {
    setHome('web', 'bb')
    await leads.find(host)
    setCell('bb', '10.0.0.9:1')
    table.changes.notify(null)
    expect(led.get(host)).toEqual({ address: '10.0.0.9', port: 1 })
  })

  test('is bounded', async () => {
    setHome('web', 'bb')
    for (let i = 0; i <= 10_000; i++) await leads.find(`s${i}--web--demo.boxes.test`)
    expect(led.size).toBe(10_000)
    expect(led.has('s0--web--demo.boxes.test')).toBe(false)
    setHome('web', null)
    expect(led.size).toBe(0)
  })
})

test('certificates are for hosts that are known to be those of a box', () => {
  setHome('web', 'bb')
  setHome('mine', 'aa')
  domains.owners.set('shop.example.org', { project: 'demo', box: 'web', uid: 'box_web', service: 'api' })
  const hosts = ['web--demo.boxes.test', 'shop.example.org', 'api--web--demo.boxes.test', 'mine--demo.boxes.test']
  expect(hosts.map((each) => leads.exactOwner(each))).toEqual(['demo/web', 'demo/web', null, null])
})

test('a cell that something was led to and whose edge does not answer is told of', async () => {
  setHome('web', 'bb')
  faults.set('10.0.0.2', 'Nothing listens at port 8093.')
  expect(await leads.problems()).toEqual([])
  await leads.find('web--demo.boxes.test')
  expect(await leads.problems()).toMatchObject([{ code: 'cell_edge_away', evidence: expect.stringContaining('bb') }])
  faults.clear()
  expect(await leads.problems()).toEqual([])
})
