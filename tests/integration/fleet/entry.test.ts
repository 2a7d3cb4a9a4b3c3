import { createHash } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { SIGNATURE_HEADER } from '../../../shared/auth/channel.ts'
import { type HttpHandler, type HttpResponse, jsonResponse } from '../../../shared/http/messages.ts'
import { newIdOfCell } from '../../../shared/ids.ts'
import { eventually } from '../../helpers/eventually.ts'
import { makeFleet, type TestEntry, type TestFleet } from '../../helpers/fleet/entries.ts'
import { type FakeAgent, startFakeAgent } from '../../helpers/front/fake-agent.ts'
import { jsonOf, makeDeployment, makeFront, makeRequest } from '../../helpers/front/test-front.ts'

const MIB = 1024 * 1024
const BOX = '/v1/projects/demo/boxes/web'
const WEB = 'box demo/web'
const CELLS = ['aa', 'bb', 'cc'] as const
type CellName = (typeof CELLS)[number]

const deployment = makeDeployment()
const keys = () => deployment.channelKeys
let fleet: TestFleet
let agents: Record<CellName, FakeAgent & { entry: TestEntry }>
let door: HttpHandler
let headers: Record<string, string>
let closers: (() => Promise<void>)[]

beforeEach(async () => {
  closers = []
  headers = { authorization: `Bearer ${await deployment.mint()}` }
  fleet = makeFleet(deployment.channelKeys)
  const started = await Promise.all(CELLS.map(async (cell) => [cell, await startCell(cell)] as const))
  agents = Object.fromEntries(started) as unknown as typeof agents
  door = openDoor('aa')
})

afterEach(async () => {
  for (const close of closers.reverse()) await close()
})

async function startCell(cell: CellName, options: Parameters<typeof startFakeAgent>[1] = {}) {
  const entry = fleet.entryOf(cell)
  const agent = await startFakeAgent(keys, { wrap: entry.wrap, ...options })
  fleet.urls.set(cell, agent.url)
  closers.push(async () => {
    await entry.close()
    await agent.close()
  })
  return Object.assign(agent, { entry, respond: () => jsonResponse(200, { answered_by: cell }) })
}

/** Opens a front that knows the agent of one cell only. */
function openDoor(cell: CellName): HttpHandler {
  const { app, transport } = makeFront({ agentUrl: agents[cell].url, keyring: deployment.keyring })
  closers.push(() => transport.close())
  return app
}

const ask = (method: string, target: string, given: Parameters<typeof makeRequest>[2] = {}): Promise<HttpResponse> =>
  door(makeRequest(method, target, { ...given, headers: { ...headers, ...given.headers } }))

/** Number of requests that each cell answered without forwarding. Excludes the front's checks of its agent. */
const answered = (): number[] =>
  CELLS.map((cell) => agents[cell].seen.filter(({ target }) => target !== '/version').length)

describe('what another cell has', () => {
  beforeEach(() => {
    fleet.homes.set(WEB, 'bb')
    agents.aa.entry.memory.set(WEB, 'bb')
    agents.bb.entry.memory.set(WEB, 'bb')
  })

  test('is asked of it once, as it came, and its answer comes back', async () => {
    agents.bb.respond = () => jsonResponse(201, { a: 1 }, { etag: '"7"', 'operation-location': '/v1/operations/opr_1' })
    const response = await ask('POST', `${BOX}/exec?wait_seconds=5`, {
      body: '{"command":["true"]}',
      headers: { 'idempotency-key': 'once', 'x-request-id': 'req_mine' },
    })
    expect([response.status, jsonOf(response)]).toEqual([201, { a: 1 }])
    expect(response.headers).toMatchObject({ etag: '"7"', 'operation-location': '/v1/operations/opr_1' })
    expect(answered()).toEqual([0, 1, 0])
    expect(agents.bb.seen[0]).toMatchObject({
      method: 'POST',
      target: `${BOX}/exec?wait_seconds=5`,
      headers: { ...headers, 'idempotency-key': 'once', 'x-request-id': 'req_mine' },
    })
    expect(agents.bb.seen[0]?.body.toString()).toBe('{"command":["true"]}')
    expect(agents.aa.entry.reads).toEqual([])
  })

  test('takes bodies of any length, sealed by the front', async () => {
    agents.bb.respond = async ({ bytes }) => {
      const hash = createHash('sha256')
      for await (const piece of bytes ?? []) hash.update(piece)
      return jsonResponse(200, { sha256: hash.digest('hex') })
    }
    const body = Buffer.alloc(9 * MIB, 'long ')
    const response = await ask('PUT', `${BOX}/files/write?path=/a`, {
      body,
      headers: { 'content-type': 'application/octet-stream', 'content-length': String(body.length) },
    })
    expect(jsonOf(response)).toEqual({ sha256: createHash('sha256').update(body).digest('hex') })
    expect(answered()).toEqual([0, 1, 0])
  })

  test('answers in pieces as they come, and is told when the client leaves', async () => {
    const leaving = new AbortController()
    let isLeft = false
    agents.bb.respond = ({ request }) => ({
      status: 200,
      headers: { 'content-type': 'application/octet-stream' },
      body: (async function* () {
        yield Buffer.from('first')
        await new Promise((resolve) => request.signal.addEventListener('abort', resolve, { once: true }))
        isLeft = true
      })(),
    })
    const response = await ask('GET', `${BOX}/files/read?path=/a`, { signal: leaving.signal })
    const pieces = (response.body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]()
    expect(String((await pieces.next()).value)).toBe('first')
    leaving.abort()
    await expect(pieces.next()).rejects.toThrow()
    await eventually(() => isLeft)
  })

  test('is refused by it where the front signs for another run, and asked again', async () => {
    await agents.bb.close()
    agents.bb = await startCell('bb', { startedAt: Date.now() })
    expect(jsonOf(await ask('GET', BOX))).toEqual({ answered_by: 'bb' })
    expect(agents.bb.refusals.map(({ reason }) => reason)).toEqual(['restarted'])
  })

  test('is asked while it and the door have both just started, many times at once', async () => {
    await agents.aa.close()
    await agents.bb.close()
    agents.aa = await startCell('aa', { startedAt: Date.now() })
    agents.bb = await startCell('bb', { startedAt: Date.now() })
    agents.aa.entry.memory.set(WEB, 'bb')
    door = openDoor('aa')
    // A front signs again in the turn in which it learns of a run, so no run is mistaken for another.
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, i) => ask('GET', i % 2 === 0 ? BOX : '/v1/tokens')),
    )
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    expect(answers.map(jsonOf)).toEqual(answers.map((_, i) => ({ answered_by: i % 2 === 0 ? 'bb' : 'aa' })))
  })

  test('says that it is away where it is, and may be asked again', async () => {
    agents.aa.respond = () => jsonResponse(404, { code: 'box_not_found' })
    await agents.bb.close()
    fleet.isDirectoryAway = true
    const response = await ask('GET', BOX, { headers: { 'x-request-id': 'req_mine' } })
    expect(response.status).toBe(503)
    expect(response.headers).toMatchObject({ 'retry-after': '2', 'x-request-id': 'req_mine' })
    expect(jsonOf(response)).toMatchObject({
      code: 'agent_unavailable',
      detail: 'The agent of cell bb, which has box "web", is unreachable.',
    })
    fleet.urls.delete('bb')
    expect(jsonOf(await ask('GET', BOX))).toMatchObject({ code: 'agent_unavailable' })
  })
})

describe('a backup of a volume that is no more', () => {
  test('is asked of the cell that made it, by its id', async () => {
    const at = (cell: string) => `/v1/projects/demo/data/gone/backups/${newIdOfCell('bak', 1_000, cell)}`
    for (const cell of ['aa', 'bb', 'cc']) expect(jsonOf(await ask('GET', at(cell)))).toEqual({ answered_by: cell })
    expect(jsonOf(await ask('GET', at('zz')))).toEqual({ answered_by: 'aa' })
    // An existing volume knows its owner, no matter which cell made its backups.
    fleet.homes.set('volume demo/gone', 'cc')
    expect(jsonOf(await ask('GET', at('bb')))).toEqual({ answered_by: 'cc' })
  })
})

describe('what this cell answers itself', () => {
  test('is what it has, and what has no owner', async () => {
    agents.aa.entry.memory.set(WEB, 'aa')
    for (const target of [BOX, '/v1/tokens', '/v1/me', '/version'])
      expect(jsonOf(await ask('GET', target))).toEqual({ answered_by: 'aa' })
    expect(agents.aa.entry.reads).toEqual([])
  })

  test('is also what nobody has, once the directory says so', async () => {
    expect(jsonOf(await ask('GET', BOX))).toEqual({ answered_by: 'aa' })
    expect(agents.aa.entry.reads).toEqual([WEB])
  })

  test('is what the functions have not sent, of which the directory is asked nothing', async () => {
    fleet.homes.set(WEB, 'bb')
    const plain = await fetch(`${agents.aa.url}${BOX}`, { headers: { 'x-boxyard-entry': 'cc' } })
    expect([plain.status, ((await plain.json()) as { code: string }).code]).toEqual([502, 'agent_protocol'])
    const forged = await fetch(`${agents.aa.url}${BOX}`, {
      headers: { [SIGNATURE_HEADER]: `v1.k1.${Date.now()}.${'a'.repeat(22)}.${'a'.repeat(43)}.${'a'.repeat(43)}` },
    })
    expect(forged.status).toBe(502)
    expect([agents.aa.entry.reads, answered()]).toEqual([[], [0, 0, 0]])
  })
})

describe('a name that has moved, or that memory does not know yet', () => {
  test('is read from the directory', async () => {
    fleet.homes.set(WEB, 'bb')
    expect(jsonOf(await ask('GET', BOX))).toEqual({ answered_by: 'bb' })
    expect(agents.aa.entry.reads).toEqual([WEB])
  })

  test.each([
    ['to a third cell', 'cc', 'cc'],
    ['to the cell that was asked', 'aa', 'aa'],
  ] as const)('%s is asked there, with its body', async (_, home, by) => {
    agents.aa.entry.memory.set(WEB, 'bb')
    fleet.homes.set(WEB, home)
    agents[by].respond = ({ body }) => jsonResponse(200, { by, body: body.toString() })
    const response = await ask('POST', `${BOX}/exec`, { body: '{"command":["true"]}' })
    expect(jsonOf(response)).toEqual({ by, body: '{"command":["true"]}' })
    expect(answered().reduce((sum, count) => sum + count)).toBe(1)
  })

  test('while a long body is sent is not asked a second time', async () => {
    agents.aa.entry.memory.set(WEB, 'bb')
    fleet.homes.set(WEB, 'cc')
    const body = Buffer.alloc(MIB)
    const response = await ask('PUT', `${BOX}/files/write?path=/a`, {
      body,
      headers: { 'content-type': 'application/octet-stream', 'content-length': String(body.length) },
    })
    expect([response.status, jsonOf(response)['code'], answered()]).toEqual([503, 'agent_unavailable', [0, 0, 0]])
  })

  test('is never passed on twice, whatever the cells believe', async () => {
    agents.aa.entry.memory.set(WEB, 'bb')
    agents.bb.entry.memory.set(WEB, 'cc')
    agents.cc.entry.memory.set(WEB, 'bb')
    fleet.homes.set(WEB, 'bb')
    // The directory is right although the owner's memory is not.
    expect(jsonOf(await ask('GET', BOX))).toEqual({ answered_by: 'bb' })
    fleet.homes.set(WEB, 'cc')
    agents.aa.entry.memory.set(WEB, 'bb')
    expect(jsonOf(await ask('GET', BOX))).toEqual({ answered_by: 'cc' })
    expect(answered()).toEqual([0, 1, 1])
  })
})
