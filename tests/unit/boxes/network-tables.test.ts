import { describe, expect, test } from '@jest/globals'
import { mountedNamespaces } from '../../../agent/drivers/boxes/network-namespaces.ts'
import { boxesOverBounds } from '../../../agent/drivers/boxes/network-tables.ts'
import { parseSlab, parseTableEntries } from '../../../agent/drivers/host/network-tables.ts'

const CALM = { neighboursMax: 1_024, connectionsMax: 262_144, isNeighbourTableFull: false, isFilling: true }
const FULL = { ...CALM, isNeighbourTableFull: true }
const use = (neighbours: number, connections = 0) => ({ neighbours, connections })
const ended = (tables: typeof CALM, used: Record<string, ReturnType<typeof use>>): string[] => [
  ...boxesOverBounds(tables, new Map(Object.entries(used))).keys(),
]

describe('boxes that share the network tables of a host', () => {
  test('may hold a quarter of each', () => {
    expect(ended(CALM, { a: use(256, 65_536), b: use(3) })).toEqual([])
    expect(ended(CALM, { a: use(257), b: use(3), c: use(0, 65_537) })).toEqual(['a', 'c'])
  })

  test('are ended one by one while several fill the table of neighbours together', () => {
    expect(ended(FULL, { a: use(200), b: use(250), c: use(240), d: use(10) })).toEqual(['b'])
    expect(ended(CALM, { a: use(200), b: use(250), c: use(240) })).toEqual([])
  })

  test('keep a few neighbours, however full the table is', () => {
    expect(ended(FULL, { a: use(63), b: use(20) })).toEqual([])
    expect(ended(FULL, {})).toEqual([])
  })

  test('are told what they held, the bound, and the way out', () => {
    const [reason] = boxesOverBounds(CALM, new Map([['a', use(900)]])).values()
    expect(reason).toMatch(/900 neighbours.*256.*Resume/)
  })
})

test('the files of the kernel are read', () => {
  expect(parseTableEntries('entries  allocs\n0000040b 00005084\n0000040b 00000001\n')).toBe(0x40b)
  expect(parseTableEntries('')).toBe(0)
  const slabs = 'slabinfo - version: 2.1\nnf_conntrack_expect 9 9\nnf_conntrack      238440 238448    256   16    1\n'
  expect(parseSlab(slabs, 'nf_conntrack')).toBe(238_440)
  expect(parseSlab(slabs, 'other')).toBe(0)
})

test('namespaces are found in a table of mounts, with spaces in their paths', () => {
  const table = [
    '22 1 0:4 net:[4026532301] /run/netns/a\\040b rw shared:5 - nsfs nsfs rw',
    '23 1 0:4 mnt:[4026532302] /run/m rw - nsfs nsfs rw',
    '24 1 0:5 / /proc rw - proc proc rw',
  ].join('\n')
  expect(mountedNamespaces(table)).toEqual([['net:[4026532301]', '/run/netns/a b']])
})
