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

beforeEach(() => {
  const instanceId = randomUUID().replaceAll('-', '_')
  rules = createPodRules({ instanceId, egress: true, allowPrivate: false })
  table = createFilterTable({ text: rules, resolvers: [], logger: silentLogger })
  table.open(() => true)
})

afterEach(() => {
  table.close({ release: true })
})

const inKernel = async () => rules.parse((await runOk('nft', ['-j', 'list', 'table', 'inet', rules.name])).stdout)
const markOf = async ({ address }: PodBox) => (await inKernel()).find((entry) => entry.address === address)?.projectMark

test('a project whose last box joins another gives up its mark', async () => {
  table.add(ONE, RED)
  const red = await markOf(ONE)
  table.add(ONE, { ...BLUE, isAdopted: true })
  const blue = await markOf(ONE)
  table.add(TWO, RED)
  expect(new Set([red, blue, await markOf(TWO)]).size).toBe(3)
})
