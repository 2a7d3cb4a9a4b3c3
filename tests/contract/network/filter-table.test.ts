import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { createFilterTable, type FilterTable, type TableText } from '../../../agent/drivers/network/filter-table.ts'
import { createPodRules, type PodBox } from '../../../agent/drivers/pods/rules.ts'
import { runOk } from '../../../agent/lib/run.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const [ONE, TWO] = [
  { boxId: 'box_one', address: '10.221.7.1' },
  { boxId: 'box_two', address: '10.221.7.2' },
]
const RED = { project: 'red', isAdopted: false }
const BLUE = { project: 'blue', isAdopted: false }

let rules: TableText<PodBox>
let table: FilterTable<PodBox>
let isRefused = false

beforeEach(() => {
  const instanceId = randomUUID().replaceAll('-', '_')
  rules = createPodRules({ instanceId, egress: true, allowPrivate: false })
  const unlessRefused = (commands: string): string => (isRefused ? `${commands}\nno command` : commands)
  const text: TableText<PodBox> = {
    ...rules,
    load: (...load) => unlessRefused(rules.load(...load)),
    add: (entry) => unlessRefused(rules.add(entry)),
  }
  table = createFilterTable({ text, resolvers: [], logger: silentLogger })
  table.open(() => true)
})

afterEach(() => {
  isRefused = false
  table.close({ release: true })
})

const inKernel = async () => rules.parse((await runOk('nft', ['-j', 'list', 'table', 'inet', rules.name])).stdout)
const markOf = async ({ address }: PodBox) => (await inKernel()).find((entry) => entry.address === address)?.projectMark

test('a box whose update the kernel refuses stays in its project, and can be removed', async () => {
  table.add(ONE, RED)
  const before = await inKernel()
  isRefused = true
  expect(() => table.add(ONE, BLUE)).toThrow(expect.objectContaining({ code: 'runtime_unavailable' }))
  isRefused = false
  expect(await inKernel()).toEqual(before)
  table.add(TWO, RED)
  expect(await markOf(TWO)).toBe(await markOf(ONE))
  table.remove(TWO.address)
  table.remove(ONE.address)
  expect(await inKernel()).toEqual([])
})

test('a new box that the kernel refuses is in no project', async () => {
  isRefused = true
  expect(() => table.add(ONE, RED)).toThrow(expect.objectContaining({ code: 'runtime_unavailable' }))
  isRefused = false
  table.setResolvers([])
  expect(await inKernel()).toEqual([])
})

test('a project whose last box joins another gives up its mark', async () => {
  table.add(ONE, RED)
  const red = await markOf(ONE)
  table.add(ONE, { ...BLUE, isAdopted: true })
  const blue = await markOf(ONE)
  table.add(TWO, RED)
  expect(new Set([red, blue, await markOf(TWO)]).size).toBe(3)
})
