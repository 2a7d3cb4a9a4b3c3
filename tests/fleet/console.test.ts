import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { CONSOLE_DIRECTORY, ensureConsole } from '../../infra/web/build.ts'
import { eventually } from '../helpers/eventually.ts'
import { type CellOfTests, type FleetOfTests, startFleet } from '../helpers/fleet/cells.ts'
import { untilOnScreen } from '../helpers/web/visitor.ts'
import { useVisits } from '../helpers/web/visits.ts'

const BOXES = '/v1/projects/yard/boxes'

let fleet: FleetOfTests
let door: CellOfTests
let other: CellOfTests
const { user, visitor } = useVisits(() => door)

beforeAll(async () => {
  ensureConsole()
  fleet = await startFleet(['aa', 'bb'], { BOXYARD_CONSOLE_DIR: CONSOLE_DIRECTORY })
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

const row = (name: RegExp): Promise<void> => user.page.getByRole('row', { name }).waitFor()

test('boxes of all nodes are in one list, found by their node, and shown as they change at another door', async () => {
  await visitor.open('/boxes', 'Boxes')
  await row(/yard\/at-aa .*node-aa/)
  await row(/yard\/at-bb running .*node-bb/)
  await user.page.getByLabel('Node').selectOption('node-bb')
  await visitor.sees('1 of 2 boxes')
  expect(new URL(user.page.url()).search).toBe('?node=node-bb')
  await user.page.getByText('Live').waitFor()
  await other.client.post(`${BOXES}/at-bb/stop`)
  await row(/yard\/at-bb stopped/)
  await other.client.post(`${BOXES}/at-bb/resume`)
  await row(/yard\/at-bb running/)
})

test('a terminal, files and a snapshot of a box that another node has', async () => {
  await visitor.open('/boxes/yard/at-bb/terminal', 'yard/at-bb')
  await visitor.type('echo seen >/root/note; echo is at-$(hostname | tr a-z A-Z)')
  await untilOnScreen(visitor, 'is at-AT-BB')
  await visitor.open('/boxes/yard/at-bb/files?path=/root/note', 'yard/at-bb')
  await eventually(async () => (await user.page.getByLabel('Text of the file').inputValue()) === 'seen\n')
  await visitor.open('/boxes/yard/at-bb/snapshots', 'yard/at-bb')
  await user.page.getByRole('button', { name: 'Take snapshot' }).first().click()
  await user.page.getByRole('dialog').getByLabel('Name').fill('first')
  await user.page.getByRole('dialog').getByRole('button', { name: 'Take snapshot' }).click()
  await user.page.getByText('first', { exact: true }).first().waitFor()
})

test('a node that is away leaves its boxes in the list, as unknown, and comes back to it', async () => {
  await visitor.open('/boxes', 'Boxes')
  await row(/yard\/at-bb running/)
  process.kill(other.service.agentPid, 'SIGSTOP')
  await visitor.open('/boxes', 'Boxes')
  await row(/yard\/at-bb unknown/)
  await row(/yard\/at-aa running/)
  await visitor.open('/boxes/yard/at-bb', 'yard/at-bb')
  await visitor.sees('The agent of cell bb is unreachable.')
  await visitor.open('/activity', 'Activity')
  await visitor.sees('Some data is missing. Cell bb')
  process.kill(other.service.agentPid, 'SIGCONT')
  await visitor.open('/boxes', 'Boxes')
  await row(/yard\/at-bb running/)
  await visitor.open('/activity', 'Activity')
  await user.page.getByRole('list', { name: 'Activity, newest first' }).waitFor()
  await eventually(async () => (await user.page.getByText('Some data is missing').count()) === 0)
})

test('the storage and the overview tell of every node', async () => {
  await visitor.open('/storage', 'Storage')
  await user.page.getByRole('meter', { name: 'Cell aa' }).waitFor()
  await user.page.getByRole('meter', { name: 'Cell bb' }).waitFor()
  await visitor.open('/', 'Overview')
  await user.page.getByRole('link', { name: /^Running 2/ }).waitFor()
})
