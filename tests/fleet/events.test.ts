import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { request } from 'undici'
import { type EventStream, followEvents } from '../helpers/event-stream.ts'
import { eventually } from '../helpers/eventually.ts'
import { openStream } from '../helpers/exec/stream-client.ts'
import { type CellOfTests, type FleetOfTests, startFleet } from '../helpers/fleet/cells.ts'

const EVENTS = '/v1/projects/demo/events'
const BOXES = '/v1/projects/demo/boxes'
let fleet: FleetOfTests

beforeAll(async () => {
  fleet = await startFleet()
})

afterAll(async () => {
  await fleet?.close()
})

function cellAt(index: number): CellOfTests {
  const cell = fleet.cells[index]
  if (cell === undefined) throw new Error(`There is no cell ${index}.`)
  return cell
}

const doors = (): [CellOfTests, CellOfTests, CellOfTests] => [cellAt(0), cellAt(1), cellAt(2)]

/** Creates a box of a cell, through the cell's own entry point. */
async function makeBox({ client, node }: CellOfTests, name: string): Promise<void> {
  expect((await client.post(BOXES, { name, node })).status).toBe(201)
}

/** Follows the project at an entry point, with a ticket of its own. */
async function followAt({ client }: CellOfTests, since: string): Promise<EventStream> {
  const ticket = await client.post('/v1/projects/demo/tickets', { operation: 'listEvents', query: { since } })
  expect(ticket.status).toBe(201)
  return followEvents(ticket.body.url, {})
}

const createdIn = (stream: EventStream): string[] => created(messagesOf(stream))

function messagesOf(stream: EventStream): { type: string; resource: string }[] {
  return [...stream.text().matchAll(/^id: .*\ndata: (.*)$/gm)].map(([, data]) => JSON.parse(String(data)) as never)
}

function created(events: readonly { type: string; resource: string }[]): string[] {
  return events.filter(({ type }) => type === 'box.created').map(({ resource }) => String(resource.split('/').at(-1)))
}

const missingIn = (stream: EventStream): string[][] =>
  [...stream.text().matchAll(/^event: missing_cells\ndata: (.*)$/gm)].map(
    ([, data]) => (JSON.parse(String(data)) as { cells: string[] }).cells,
  )

async function readFrom({ client }: CellOfTests, since: string) {
  const page = await client.get(`${EVENTS}?since=${since}&max_results=1000`)
  expect(page.status).toBe(200)
  return page.body as { events: never[]; next_cursor: string; missing_cells?: string[] }
}

describe('the events of a fleet', () => {
  test('come to a follower at any door, and a cursor is good at every door', async () => {
    const { next_cursor: begin } = await readFrom(cellAt(0), 'now')
    const streams = await Promise.all(doors().map((door) => followAt(door, begin)))
    for (const [i, door] of doors().entries()) await makeBox(door, `all-${i}`)
    const names = ['all-0', 'all-1', 'all-2']
    for (const stream of streams) await eventually(() => createdIn(stream).length === 3)
    for (const stream of streams) expect(createdIn(stream).sort()).toEqual(names)
    const last = String(streams[1]?.ids().at(-1))
    for (const stream of streams) stream.leave()
    await makeBox(cellAt(2), 'later')
    for (const door of doors()) {
      expect(created((await readFrom(door, begin)).events).sort()).toEqual([...names, 'later'])
      expect(created((await readFrom(door, last)).events)).toEqual(['later'])
    }
  })

  test('go on while a cell is killed, which is named, and told once it is back', async () => {
    const [aa, bb, cc] = doors()
    const stream = await followAt(aa, 'now')
    await makeBox(bb, 'before')
    await eventually(() => createdIn(stream).length === 1)
    await bb.service.killAgent()
    await eventually(() => missingIn(stream).length === 1)
    await makeBox(cc, 'meanwhile')
    await eventually(() => createdIn(stream).length === 2)
    expect((await readFrom(cc, 'now')).missing_cells).toEqual(['bb'])
    await bb.service.startAgent()
    await makeBox(bb, 'after')
    await eventually(() => createdIn(stream).length === 3)
    await eventually(() => missingIn(stream).length === 2)
    expect([createdIn(stream), missingIn(stream)]).toEqual([
      ['before', 'meanwhile', 'after'],
      [['bb'], []],
    ])
    stream.leave()
  })
})

describe('the audit log of a fleet', () => {
  test('has each request once, refused ones too, whichever door it came by', async () => {
    const [aa, bb, cc] = doors()
    await makeBox(aa, 'audited')
    const headers = { 'x-request-id': 'req_through_bb' }
    expect((await bb.client.put(`${BOXES}/audited`, { tags: { a: 'b' } }, { headers })).status).toBe(200)
    const stale = { 'if-match': '"0"', 'x-request-id': 'req_stale' }
    expect((await cc.client.put(`${BOXES}/audited`, { tags: {} }, { headers: stale })).status).toBe(412)
    for (const { client } of doors()) {
      const { entries } = (await client.get('/v1/audit?operation=updateBox&max_results=1000')).body
      const told = (entries as { request_id: string; status: number }[]).map((each) => [each.request_id, each.status])
      expect(told).toEqual([
        ['req_stale', 412],
        ['req_through_bb', 200],
      ])
    }
    const pages: string[] = []
    for (let token: string | null = '', turn = 0; token !== null; turn++) {
      const door = cellAt(turn % 3).client
      const { body } = await door.get(
        `/v1/audit?operation=createBox&max_results=1${token && `&continuation_token=${token}`}`,
      )
      pages.push(...body.entries.map((entry: { request_id: string }) => entry.request_id))
      token = body.next_continuation_token
    }
    const { entries } = (await aa.client.get('/v1/audit?operation=createBox&max_results=1000')).body
    expect(pages).toEqual(entries.map((entry: { request_id: string }) => entry.request_id))
    expect(pages.length).toBeGreaterThan(5)
  })

  test('has once what is repeated through another door, and what a door refuses since the owner is away', async () => {
    const [aa, bb, cc] = doors()
    const make = ({ client }: CellOfTests, id: string) =>
      client.post(
        BOXES,
        { name: 'owned', node: aa.node },
        { token: aa.service.adminToken, headers: { 'idempotency-key': 'once', 'x-request-id': id } },
      )
    expect([(await make(aa, 'req_first')).status, (await make(cc, 'req_repeat')).status]).toEqual([201, 201])
    const told = async () => {
      const { entries } = (await cc.client.get('/v1/audit?max_results=1000')).body
      return (entries as { request_id: string; status: number; actor: string | null }[])
        .filter((entry) => ['req_first', 'req_repeat', 'req_in_vain'].includes(entry.request_id))
        .map((entry) => [entry.request_id, entry.status, entry.actor !== null])
    }
    const made = [
      ['req_repeat', 201, true],
      ['req_first', 201, true],
    ]
    // A killed agent loses the lines of the last second.
    expect(await told()).toEqual(made)
    await aa.service.killAgent()
    const headers = { 'x-request-id': 'req_in_vain' }
    const refused = await bb.client.put(`${BOXES}/owned`, { tags: { a: 'c' } }, { headers })
    expect([refused.status, refused.body.code]).toEqual([503, 'agent_unavailable'])
    await aa.service.startAgent()
    await eventually(async () => (await cc.client.get('/v1/audit?max_results=1')).body.missing_cells === undefined)
    expect(await told()).toEqual([['req_in_vain', 503, true], ...made])
  })
})

describe('a ticket', () => {
  test('for a box is issued through any door, and is good at its owner alone', async () => {
    const [aa, bb] = doors()
    await makeBox(aa, 'ticketed')
    const ask = async (body: object): Promise<string> => {
      const answer = await bb.client.post(`${BOXES}/ticketed/tickets`, body)
      expect([answer.status, new URL(String(answer.body.url)).host]).toEqual([201, new URL(aa.service.dataUrl).host])
      return String(answer.body.url)
    }
    const exec = await openStream(await ask({ operation: 'streamExec', query: { command: ['echo', 'hello'] } }))
    await exec.until(1, 'hello')
    const console = await openStream(await ask({ operation: 'openConsole', query: { session: 'by-ticket' } }))
    console.send(0, 'echo is-$((40+2)); exit\n')
    await console.until(1, 'is-42')
    await console.closed
    const query = { path: '/tmp/a' }
    const put = await request(await ask({ operation: 'writeFile', query }), {
      method: 'PUT',
      body: 'sent',
      headers: { 'content-type': 'application/octet-stream' },
    })
    expect(put.statusCode).toBeLessThan(300)
    await put.body.dump()
    const get = await request(await ask({ operation: 'readFile', query }))
    expect(await get.body.text()).toBe('sent')
    const elsewhere = (await ask({ operation: 'readFile', query })).replace(aa.service.dataUrl, bb.service.dataUrl)
    const refused = await request(elsewhere)
    expect([refused.statusCode, await refused.body.json()]).toMatchObject([401, { code: 'token_invalid' }])
  })
})
