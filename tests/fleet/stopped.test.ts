import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { eventually } from '../helpers/eventually.ts'
import { type CellOfTests, type FleetOfTests, startFleet } from '../helpers/fleet/cells.ts'

// Tests an agent that accepts connections and does nothing. A signal stops it, as would a debugger or a hanging disk.

const BOXES = '/v1/projects/demo/boxes'
let fleet: FleetOfTests
let door: CellOfTests
let other: CellOfTests

beforeAll(async () => {
  fleet = await startFleet(['aa', 'bb'])
  ;[door, other] = fleet.cells as [CellOfTests, CellOfTests]
  for (const { node, cell } of fleet.cells)
    expect((await door.client.post(BOXES, { name: `at-${cell}`, node })).status).toBe(201)
})

afterEach(() => {
  process.kill(other.service.agentPid, 'SIGCONT')
})

afterAll(async () => {
  await fleet?.close()
})

test('a command that takes longer than an agent may be silent is not cut off', async () => {
  const { status, body } = await door.client.shell('demo', 'at-bb', 'sleep 9; echo slept')
  expect([status, body?.stdout]).toEqual([200, 'slept\n'])
})

test('what it has is refused as of one that is away, and goes on once it does', async () => {
  process.kill(other.service.agentPid, 'SIGSTOP')
  const sent = await door.client.post(`${BOXES}/at-bb/exec`, { shell: 'echo late' })
  expect([sent.status, sent.body?.code, sent.body?.detail]).toEqual([
    503,
    'agent_unavailable',
    'The agent of cell bb, which has box "at-bb", is unreachable. The request may still take effect.',
  ])
  const refused = await door.client.post(`${BOXES}/at-bb/exec`, { shell: 'echo never' })
  expect([refused.status, refused.body?.detail]).toEqual([
    503,
    'The agent of cell bb, which has box "at-bb", is unreachable.',
  ])
  expect((await door.client.get(`${BOXES}/at-bb`)).body).toMatchObject({ status: 'unknown' })
  const { boxes } = (await door.client.get(BOXES)).body
  expect(boxes.map(({ name, status }: { name: string; status: string }) => [name, status])).toEqual([
    ['at-aa', 'running'],
    ['at-bb', 'unknown'],
  ])
  for (let i = 0; i < 4; i++)
    expect((await door.client.post(BOXES, { name: `meanwhile-${i}` })).body?.node).toBe(door.node)
  expect((await door.client.shell('demo', 'at-aa', 'echo here')).body?.stdout).toBe('here\n')
  process.kill(other.service.agentPid, 'SIGCONT')
  await eventually(async () => (await door.client.post(`${BOXES}/at-bb/exec`, { shell: 'true' })).status === 200)
})
