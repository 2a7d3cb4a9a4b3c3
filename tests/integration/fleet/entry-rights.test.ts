import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { ServiceError } from '../../../shared/errors.ts'
import { newIdOfCell } from '../../../shared/ids.ts'
import { CELLS, type FakeCells, startFakeCells } from '../../helpers/fleet/fake-cells.ts'

// Tests which clients can make an ingress node ask other cells and the cluster, and how the node counts such requests.

const BOX = '/v1/projects/demo/boxes/web'
const NOBODYS = '/v1/projects/demo/boxes/nobodys'
const OPERATION = `/v1/operations/${newIdOfCell('opr', 1_000, 'bb')}`
let cells: FakeCells

beforeEach(async () => {
  cells = await startFakeCells()
  cells.fleet.homes.set('box demo/web', 'bb')
})
afterEach(() => cells.close())

/** Targets that each cell answered without forwarding. Excludes the front's checks of its agent. */
const answered = (): string[][] =>
  CELLS.map((cell) => cells.agents[cell].seen.map(({ target }) => target).filter((each) => each !== '/version'))

test('a token that was revoked has the door ask neither the cluster nor another cell', async () => {
  cells.fleet.checkAlive = () => {
    throw new ServiceError('token_revoked', 'The token was revoked.')
  }
  const asked = [BOX, NOBODYS, '/v1/projects/demo/boxes', OPERATION]
  for (const target of asked) await cells.ask(target)
  expect(answered()).toEqual([asked, [], []])
  expect(cells.agents.aa.entry.reads).toEqual([])
  expect(cells.agents.aa.entry.noted).toEqual([])
})

test('one that cannot be looked up here is for the owner to judge', async () => {
  cells.fleet.checkAlive = () => {
    throw new ServiceError('runtime_unavailable', 'The cluster is away.')
  }
  await cells.ask(BOX)
  expect(answered()).toEqual([[], [BOX], []])
})

test('one of another project, or without the permission, reaches no cell', async () => {
  await cells.authorize({ projects: ['other'], permissions: ['read'] })
  for (const [target, method] of [
    [BOX, 'GET'],
    ['/v1/projects/demo/boxes', 'GET'],
    [`${NOBODYS}/files/read?path=/a`, 'GET'],
    ['/v1/projects/other/boxes/web/exec', 'POST'],
  ] as const)
    expect((await cells.ask(target, method, method === 'POST' ? { shell: 'id' } : undefined)).status).toBe(403)
  expect(answered()).toEqual([[], [], []])
  expect(cells.agents.aa.entry.reads).toEqual([])
})

test('what is passed on counts as asking here: bytes of other projects leave it the event loop', async () => {
  const { noted } = cells.agents.aa.entry
  await cells.ask(`${BOX}/exec`, 'POST', { shell: 'id' })
  expect(noted).toEqual(['project demo'])
  await cells.ask('/v1/projects/demo/boxes')
  expect(noted).toEqual(['project demo', 'project demo'])
  await cells.ask(OPERATION)
  expect(noted.at(-1)).toMatch(/^token ./)
})

test('a request without a token, of somebody with a ticket or none, counts for strangers and not for the project', async () => {
  const ticket = `ticket=${'x'.repeat(43)}`
  const target = `${NOBODYS}/files/read?path=/a&${ticket}`
  const { readers, noted } = cells.agents.aa.entry
  await cells.ask(target)
  expect([readers, noted]).toEqual([['project demo'], ['project demo']])
  cells.headers = {}
  await cells.ask(target)
  expect([readers, noted]).toEqual([['project demo', 'strangers'], ['project demo']])
  await cells.ask(`${BOX}/files/read?path=/a&${ticket}`)
  expect(answered()[1]).toHaveLength(1)
})
