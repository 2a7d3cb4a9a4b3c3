import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import {
  HOST_IDS,
  INSTANCES_MAX,
  instanceAddresses,
  instanceIds,
  isMappedTo,
  isOverlapping,
  isSlotSubnet,
  lentInstances,
  parseSubordinateIds,
  planServer,
  planSlot,
  SLOTS_MAX,
  serverOfIdBase,
  slotOfIdBase,
  slotOfInterface,
} from '../../../agent/drivers/network/slots.ts'

const SUBNET = '10.213.0.0/16'
const SLOT = planSlot(SUBNET, 0, 0)

describe('planSlot', () => {
  test('gives every slot of every instance ids, an address and a name of its own', () => {
    const plans = Array.from({ length: INSTANCES_MAX * SLOTS_MAX }, (_, n) =>
      planSlot(SUBNET, Math.floor(n / SLOTS_MAX), n % SLOTS_MAX),
    )
    for (const key of ['idBase', 'address', 'interfaceName'] as const) {
      expect(new Set(plans.map((plan) => plan[key])).size).toBe(plans.length)
    }
    expect(new Set(plans.flatMap((plan) => [plan.hostMac.toString('hex'), plan.boxMac.toString('hex')])).size).toBe(
      2 * plans.length,
    )
    expect(plans.every(({ address }) => /^10\.213\.\d+\.\d+$/.test(address) && !/\.(0|255)$/.test(address))).toBe(true)
    expect(plans.every(({ interfaceName }) => interfaceName.length <= 15)).toBe(true)
    expect(plans.every(({ idBase }) => idBase % 65_536 === 0 && idBase + 65_536 <= 2 ** 31)).toBe(true)
  })

  test('begins at the number of the contract', () => {
    expect(planSlot(SUBNET, 0, 0)).toMatchObject({ idBase: 0x4000_0000, address: '10.213.0.1', interfaceName: 'bx0-0' })
    expect(planSlot(SUBNET, 1, 2)).toMatchObject({
      idBase: 0x4402_0000,
      address: '10.213.4.11',
      interfaceName: 'bx1-2',
    })
    expect(instanceAddresses(SUBNET, 0)).toEqual([
      { first: '10.213.0.1', last: '10.213.4.8' },
      { first: planServer(SUBNET, 0, 0).address, last: planServer(SUBNET, 0, 1023).address },
    ])
  })
})

describe('finding a slot again', () => {
  test.each([
    [1, 'bx1-0', 0],
    [1, 'bx1-1023', 1023],
    [1, 'bx1-1024', null],
    [1, 'bx1-01', null],
    [1, 'bx1-', null],
    [1, 'bx10-1', null],
    [1, 'bx1-1x', null],
    [1, 'eth0', null],
  ])('instance %i, interface %s', (k, name, slot) => expect(slotOfInterface(k, name)).toBe(slot))

  test.each([
    [0, 0x4000_0000, 0],
    [0, 0x4001_0000, 1],
    [0, 0x4000_0001, null],
    [1, 0x4000_0000, null],
    [1, 0x4800_0000, null],
    [0, 100_000, null],
  ])('instance %i, id %i', (k, base, slot) => expect(slotOfIdBase(k, base)).toBe(slot))

  test('accepts only the whole id map of a slot', () => {
    expect(isMappedTo('         0 1073741824      65536\n', SLOT)).toBe(true)
    expect(isMappedTo('         0 1073741824      1000\n', SLOT)).toBe(false)
    expect(isMappedTo('         0          0 4294967295\n', SLOT)).toBe(false)
    expect(isMappedTo('', SLOT)).toBe(false)
  })
})

test('name servers have addresses, ids and interfaces that no box and no other server has', () => {
  const plans = Array.from({ length: INSTANCES_MAX * SLOTS_MAX }, (_, n) =>
    [planSlot, planServer].map((plan) => plan(SUBNET, Math.floor(n / SLOTS_MAX), n % SLOTS_MAX)),
  ).flat()
  for (const key of ['address', 'interfaceName', 'idBase'] as const)
    expect(new Set(plans.map((plan) => plan[key])).size).toBe(plans.length)
  const sorted = plans.toSorted((one, other) => one.idBase - other.idBase)
  expect(sorted.every(({ idBase, ids }, n) => idBase + ids <= (sorted[n + 1]?.idBase ?? 2 ** 31))).toBe(true)
  expect(plans.every(({ interfaceName }) => interfaceName.length <= 15)).toBe(true)
  const { idBase, interfaceName } = planServer(SUBNET, 11, 1023)
  expect([serverOfIdBase(11, idBase), serverOfIdBase(10, idBase), slotOfIdBase(11, idBase)]).toEqual([1023, null, null])
  expect(slotOfInterface(11, interfaceName)).toBeNull()
})

describe('ranges of /etc/subuid', () => {
  test('are read without comments and invalid lines', () => {
    const text = '# root\nroot:100000:65536\nbroken\n1000:1073741824:65536\nempty:5:0\n'
    expect(parseSubordinateIds(text)).toEqual([
      { start: 100_000, end: 165_536 },
      { start: 1_073_741_824, end: 1_073_807_360 },
    ])
  })

  test.each([0, 1])('overlap an instance by a single id, of its boxes or its name servers (range %i)', (index) => {
    const range = instanceIds(2)[index] ?? { start: 0, end: 0 }
    const { start, end } = range
    expect(isOverlapping(range, [{ start: end - 1, end: end + 5 }])).toBe(true)
    const beside = [
      { start: end, end: end + 5 },
      { start: start - 9, end: start },
    ]
    expect(isOverlapping(range, beside)).toBe(false)
    expect(lentInstances(['', `ann:${start}:1\n`])).toEqual([2])
    expect(lentInstances([`ann:${start - 1}:${end - start + 2}\n`, ''])).toEqual([1, 2, 3])
  })

  test('of all instances are those that are documented', () => {
    const ranges = Array.from({ length: INSTANCES_MAX }, (_, k) => instanceIds(k)).flat()
    expect(Math.min(...ranges.map(({ start }) => start))).toBe(HOST_IDS.start)
    expect(Math.max(...ranges.map(({ end }) => end))).toBe(HOST_IDS.end)
    expect(instanceIds(3)[1]?.start).toBe(planServer(SUBNET, 3, 0).idBase)
    expect(lentInstances(['root:100000:65536\n', 'root:100000:65536\n'])).toEqual([])
    const page = readFileSync(join(import.meta.dirname, '../../../docs/install.md'), 'utf8')
    expect(page).toContain(`${HOST_IDS.start}–${HOST_IDS.end - 1}`)
  })
})

test.each([
  ['10.213.0.0/16', true],
  ['10.213.1.0/16', false],
  ['10.213.0.0/24', false],
  ['10.256.0.0/16', false],
  ['10.0213.0.0/16', false],
  ['fd00::/16', false],
])('subnet %s', (subnet, isValid) => expect(isSlotSubnet(subnet)).toBe(isValid))
