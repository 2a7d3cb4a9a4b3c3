import { describe, expect, test } from '@jest/globals'
import {
  addCommands,
  flowsPerBox,
  parseEntries,
  removeCommands,
  rulesetCommands,
} from '../../../agent/drivers/network/nft-rules.ts'
import { parseForwardDrops } from '../../../agent/drivers/network/problems.ts'
import { openNftables } from '../../../agent/lib/syscalls/nftables.ts'

const ENTRY = { interfaceName: 'bx11-5', address: '10.213.44.94', projectMark: 3, epoch: 2_147_483_646 }
const NAMED = { ...ENTRY, nameServer: '10.213.96.1' }
const RULES = {
  instance: 11,
  subnet: '10.213.0.0/16',
  egress: true,
  allowPrivate: false,
  flowsPerBox: 1024,
  resolvers: ['10.0.0.53'],
}

describe('rulesetCommands', () => {
  test.each([
    ['everything on', { ...RULES, allowPrivate: true, entries: [ENTRY] }],
    ['a name server', { ...RULES, entries: [NAMED] }],
    ['nothing on', { ...RULES, egress: false, resolvers: [], entries: [] }],
  ])('is one transaction that nft accepts, with %s', (_, request) => {
    const nft = openNftables()
    // The last command must fail, so the kernel checks the rules but never applies them.
    expect(() => nft.run(`${rulesetCommands(request)}\ndelete table inet boxyard_absent`)).toThrow(
      /boxyard_absent|No such file/,
    )
    nft.close()
  })

  test('first removes the earlier table in the same transaction', () => {
    const lines = rulesetCommands({ ...RULES, entries: [] }).split('\n')
    expect(lines.slice(0, 3)).toEqual([
      'add table inet boxyard_11',
      'delete table inet boxyard_11',
      'table inet boxyard_11 {',
    ])
  })

  test('blocks private ranges unless they are allowed, and reserved ones always', () => {
    const blocked = (allowPrivate: boolean): string =>
      /set blocked .*/.exec(rulesetCommands({ ...RULES, allowPrivate, entries: [] }))?.[0] ?? ''
    for (const range of ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10']) {
      expect(blocked(false)).toContain(range)
      expect(blocked(true)).not.toContain(range)
    }
    for (const range of ['0.0.0.0/8', '127.0.0.0/8', '224.0.0.0/4', '240.0.0.0/4'])
      expect(blocked(true)).toContain(range)
  })

  test('has no way out if egress is off', () => {
    expect(rulesetCommands({ ...RULES, egress: false, entries: [] })).not.toContain('goto egress')
  })
})

describe('flowsPerBox', () => {
  test.each([
    [262_144, 1024],
    [65_536, 256],
    [8_192, 256],
    [0, 256],
    [10_000_000, 4096],
  ])('is, for a host limit of %i connections, %i', (max, flows) => expect(flowsPerBox(max)).toBe(flows))
})

describe('elements', () => {
  test('are removed as they were added', () => {
    const added = addCommands(11, ENTRY).split('\n')
    expect(added).toHaveLength(5)
    expect(added.map((line) => line.replace(/^add/, 'delete'))).toEqual(removeCommands(11, ENTRY).split('\n'))
    const named = addCommands(11, NAMED).split('\n')
    expect(named).toHaveLength(8)
    expect(named.map((line) => line.replace(/^add/, 'delete'))).toEqual(removeCommands(11, NAMED).split('\n'))
  })
})

describe('parseEntries', () => {
  const listing = (parts: unknown[]): string =>
    JSON.stringify({ nftables: [{ metainfo: { version: '1.0.6' } }, ...parts] })
  const slots = { set: { name: 'slots', elem: [{ concat: ['bx11-5', '10.213.44.94'] }] } }
  const projects = { map: { name: 'project_of', elem: [['10.213.44.94', 3]] } }
  const epochs = { map: { name: 'epoch_of', elem: [['10.213.44.94', 2_147_483_646]] } }

  test('reads the boxes of a table', () => {
    expect(parseEntries(listing([slots, projects, epochs]))).toEqual([ENTRY])
    const servers = { map: { name: 'name_server_of', elem: [['10.213.44.94', '10.213.96.1'], 'x'] } }
    expect(parseEntries(listing([slots, projects, epochs, servers]))).toEqual([NAMED])
  })

  test.each([
    ['a mark is missing', listing([slots, epochs])],
    ['the epoch is missing', listing([slots, projects])],
    ['a set is empty', listing([{ set: { name: 'slots' } }, projects, epochs])],
    ['an element is strange', listing([{ set: { name: 'slots', elem: ['x', { concat: [1] }] } }, projects, epochs])],
    ['it is no listing', '{"nftables": 5}'],
    ['it is no JSON', 'Error'],
  ])('reads none where %s', (_, text) => expect(parseEntries(text)).toEqual([]))
})

describe('parseForwardDrops', () => {
  const chain = { family: 'ip', table: 'filter', name: 'FORWARD', hook: 'forward', policy: 'drop' }

  test.each([
    ['a chain that drops forwarded packets', chain, 1],
    ['one that accepts', { ...chain, policy: 'accept' }, 0],
    ['one of another hook', { ...chain, hook: 'input' }, 0],
    ['one without a hook', { family: 'ip', table: 'filter', name: 'DOCKER-USER' }, 0],
    ['one of bridges', { ...chain, family: 'bridge' }, 0],
    ['one of this service', { ...chain, family: 'inet', table: 'boxyard_3' }, 0],
  ])('%s', (_, given, count) => {
    const listing = JSON.stringify({ nftables: [{ metainfo: {} }, { table: {} }, { chain: given }] })
    expect(parseForwardDrops(listing)).toHaveLength(count)
  })
})
