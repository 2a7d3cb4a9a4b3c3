import { describe, expect, test } from '@jest/globals'
import { createPodRules } from '../../../agent/drivers/pods/rules.ts'
import { openNftables } from '../../../agent/lib/syscalls/nftables.ts'

const ENTRY = { boxId: 'box_01k9-a', address: '10.244.1.7', projectMark: 3, epoch: 2_147_483_646 }
const LOAD = { flowsPerBox: 1024, resolvers: ['10.96.0.10'] }
const SETTINGS = { instanceId: 'unit0000', egress: true, allowPrivate: false }
const TABLE = 'boxyard_pods_unit0000'

describe('the rules of pods', () => {
  const rules = createPodRules(SETTINGS)

  test.each([
    ['everything on', { ...SETTINGS, allowPrivate: true }, [ENTRY], LOAD],
    ['nothing on', { ...SETTINGS, egress: false }, [], { flowsPerBox: 256, resolvers: [] }],
  ])('are one transaction that nft accepts, with %s', (_, settings, entries, load) => {
    const nft = openNftables()
    const text = createPodRules(settings).load(entries, load)
    // The last command must fail, so the kernel checks the rules but never applies them.
    expect(() => nft.run(`${text}\ndelete table inet boxyard_absent`)).toThrow(/boxyard_absent|No such file/)
    nft.close()
  })

  test('remove the earlier table in the same transaction', () => {
    const lines = rules.load([], LOAD).split('\n')
    expect(lines.slice(0, 3)).toEqual([
      `add table inet ${TABLE}`,
      `delete table inet ${TABLE}`,
      `table inet ${TABLE} {`,
    ])
  })

  test('have no way out if egress is off', () => {
    expect(createPodRules({ ...SETTINGS, egress: false }).load([ENTRY], LOAD)).not.toContain('goto egress')
  })

  test('remove from a box what they add', () => {
    const added = rules.add(ENTRY).split('\n')
    expect(added).toHaveLength(5)
    expect(added.map((line) => line.replace(/^add/, 'delete'))).toEqual(rules.remove(ENTRY).split('\n'))
  })
})

describe('a listed table', () => {
  const { parse } = createPodRules(SETTINGS)
  const listing = (parts: unknown[]): string =>
    JSON.stringify({ nftables: [{ metainfo: { version: '1.0.6' } }, ...parts] })
  const boxes = { set: { name: 'boxes', elem: [{ elem: { val: '10.244.1.7', comment: 'box_01k9-a' } }] } }
  const projects = { map: { name: 'project_of', elem: [['10.244.1.7', 3]] } }
  const epochs = { map: { name: 'epoch_of', elem: [['10.244.1.7', 2_147_483_646]] } }

  test('has its boxes', () => expect(parse(listing([boxes, projects, epochs]))).toEqual([ENTRY]))

  test.each([
    ['a mark is missing', listing([boxes, epochs])],
    ['the epoch is missing', listing([boxes, projects])],
    ['no name is given', listing([{ set: { name: 'boxes', elem: ['10.244.1.7'] } }, projects, epochs])],
    ['a set is empty', listing([{ set: { name: 'boxes' } }, projects, epochs])],
    ['it is no listing', '{"nftables": 5}'],
    ['there is none', ''],
  ])('has none if %s', (_, text) => expect(parse(text)).toEqual([]))
})
