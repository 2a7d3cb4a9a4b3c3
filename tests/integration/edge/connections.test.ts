import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { TOKEN_PREFIX } from '../../../shared/auth/tokens.ts'
import { createEdgeLab, type EdgeLab, grantOf, type Upstream } from '../../helpers/edge/lab.ts'
import { eventually } from '../../helpers/eventually.ts'
import { openConversation } from '../../helpers/front/http-server.ts'

const HOST = 'shut--demo.localhost'
const OTHER = 'shut--other.localhost'
const PUBLIC = 'open--demo.localhost'
const FIRST = `Bearer ${TOKEN_PREFIX}first.payload.signature`
const SECOND = `Bearer ${TOKEN_PREFIX}other.payload.signature`
/** Headers that the edge removes from requests to a box. */
const OURS = [
  ...[
    'x-real-ip: 1.2.3.4',
    'forwarded: for=x',
    'x-forwarded-port: 1',
    'x_forwarded_for: 1.2.3.4',
    'x-forwarded_host: x',
  ],
  ...['upgrade: h2c', 'http2-settings: AAMAAABk', 'content_length: 3', 'transfer_encoding: chunked', 'X-Forwarded: x'],
]

let lab: EdgeLab
let box: Upstream
let other: Upstream
let client: ReturnType<typeof openConversation>

beforeAll(async () => {
  lab = createEdgeLab()
  box = await lab.startUpstream()
  other = await lab.startUpstream()
  await lab.open()
  lab.decide(() => ({ kind: 'answer', status: 401, headers: {}, body: '' }))
})
afterAll(() => lab.close())
beforeEach(async () => {
  const routes = [
    lab.route(HOST, box, { auth: 'token' }),
    lab.route(OTHER, other, { auth: 'token', project: 'other' }),
    lab.route(PUBLIC, box),
  ]
  await lab.edge.change({ set: routes })
  await lab.edge.grant([grantOf(FIRST.slice(7), 'demo')])
  for (const { seen } of [box, other]) seen.length = 0
  lab.asked.length = 0
  client = openConversation(lab.edge.port)
})
afterEach(() => void client.socket.destroy())

/** Sends another request on the connection, and returns its status. */
async function ask(host: string, authorization: string | null, ...headers: string[]): Promise<number> {
  const before = client.heard().length
  const lines = [`host: ${host}`, ...(authorization === null ? [] : [`authorization: ${authorization}`]), ...headers]
  client.say(`GET / HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
  await eventually(() => client.heard().length > before)
  return Number(client.heard().slice(before).split(' ')[1])
}

test('a revoked bearer is refused on a connection where it passed, and passes once granted anew', async () => {
  const grant = grantOf(FIRST.slice(7), 'demo')
  for (let round = 0; round < 3; round++) {
    expect(await ask(HOST, FIRST)).toBe(200)
    expect(await ask(HOST, FIRST)).toBe(200)
    await lab.edge.revoke([grant.credential])
    expect(await ask(HOST, FIRST)).toBe(401)
    await lab.edge.grant([grant])
  }
  await lab.edge.grant([grantOf(FIRST.slice(7), 'demo', -1_000)])
  expect(await ask(HOST, FIRST)).toBe(401)
  expect(box.seen).toHaveLength(6)
})

test('the next client on a connection has none of the rights of the one before', async () => {
  for (const mine of [SECOND, `${FIRST}x`, FIRST.slice(0, -1), FIRST.toUpperCase(), 'Bearer ', 'Basic eDp5', null]) {
    expect(await ask(HOST, FIRST)).toBe(200)
    expect([mine, await ask(HOST, mine)]).toEqual([mine, 401])
    expect([mine, await ask(HOST, mine)]).toEqual([mine, 401])
  }
  await lab.edge.grant([grantOf(SECOND.slice(7), 'demo')])
  for (const mine of [FIRST, SECOND, FIRST, SECOND]) expect(await ask(HOST, mine)).toBe(200)
  await lab.edge.revoke([grantOf(FIRST.slice(7), 'demo').credential])
  expect(await ask(HOST, FIRST)).toBe(401)
  expect(await ask(HOST, SECOND)).toBe(200)
  await lab.edge.revoke([grantOf(SECOND.slice(7), 'demo').credential])
  expect(lab.asked.length).toBe(15)
})

test('a bearer is valid for the hosts of its project only, after any earlier request', async () => {
  expect(await ask(HOST, FIRST)).toBe(200)
  expect(await ask(OTHER, FIRST)).toBe(401)
  expect(await ask(PUBLIC, null)).toBe(200)
  expect(await ask(OTHER, FIRST)).toBe(401)
  expect(await ask('nobody.localhost', FIRST)).toBe(401)
  expect(await ask(HOST, FIRST)).toBe(200)
  expect(other.seen).toEqual([])
})

test('a host that moves or becomes private does so on open connections as well', async () => {
  expect(await ask(PUBLIC, null)).toBe(200)
  await lab.edge.change({ set: [lab.route(PUBLIC, other)] })
  expect(await ask(PUBLIC, null)).toBe(200)
  expect([box.seen.length, other.seen.length]).toEqual([1, 1])
  await lab.edge.change({ set: [lab.route(PUBLIC, other, { auth: 'token' })] })
  expect(await ask(PUBLIC, null)).toBe(401)
  await lab.edge.change({ remove: [PUBLIC] })
  expect(await ask(PUBLIC, FIRST)).toBe(401)
  expect([box.seen.length, other.seen.length]).toEqual([1, 1])
})

test('host names, ports and dots are read alike in all requests of a connection', async () => {
  for (const host of [HOST, HOST.toUpperCase(), `${HOST}:8081`, `${HOST}.`, `${HOST}.:1`]) {
    expect([host, await ask(host, FIRST)]).toEqual([host, 200])
    expect(box.seen.at(-1)?.headers).toMatchObject({ 'x-forwarded-host': host.toLowerCase() })
  }
  for (const host of [`${HOST}:http`, `${HOST}:123456`, `${HOST}..`, `${HOST}:`, `x@${HOST}`, `${HOST}:1:2`]) {
    expect([host, await ask(host, FIRST)]).toEqual([host, 400])
  }
  expect(box.seen).toHaveLength(5)
})

test('headers to remove are removed from one request between plain others', async () => {
  const forwarded = ['x-forwarded-for: 1.2.3.4', 'X-Forwarded-Proto: https', 'x-forwarded-host: evil', 'cookie: a=1']
  for (const host of [HOST, PUBLIC]) {
    expect(await ask(host, FIRST, ...forwarded, 'connection: x-forwarded-for, keep-alive')).toBe(200)
    expect(box.seen.at(-1)?.headers).toEqual({
      ...{ host, cookie: 'a=1' },
      ...{ 'x-forwarded-for': '127.0.0.1', 'x-forwarded-proto': 'http', 'x-forwarded-host': host },
    })
    const names = Object.keys(box.seen.at(-1)?.headers ?? {}).toSorted()
    for (const line of OURS) {
      expect([line, await ask(host, FIRST, line, 'cookie: b=2')]).toEqual([line, 200])
      expect([line, Object.keys(box.seen.at(-1)?.headers ?? {}).toSorted()]).toEqual([line, names])
    }
    expect(await ask(host, FIRST, 'cookie: b=2; __Host-boxyard=s')).toBe(200)
    expect(box.seen.at(-1)?.headers.cookie).toBe('b=2')
  }
})

test('a bearer too long for the maps passes where it is granted, and nowhere else', async () => {
  const long = `${TOKEN_PREFIX}${'l'.repeat(6_000)}`
  await lab.edge.grant([grantOf(long, 'demo')])
  for (const mine of [`Bearer ${long}`, FIRST, `Bearer ${long}`]) expect(await ask(HOST, mine)).toBe(200)
  expect(await ask(HOST, `Bearer ${long}x`)).toBe(401)
  expect(await ask(OTHER, `Bearer ${long}`)).toBe(401)
})

test('the sign-in host belongs to the agent, even if a box has a route of that name', async () => {
  await lab.edge.change({ set: [lab.route('sign-in.localhost', box)] })
  for (const host of ['sign-in.localhost', 'Sign-In.localhost', 'sign-in.localhost:8081', 'sign-in.localhost.']) {
    const { status, body } = await lab.ask(['GET /x HTTP/1.1', `host: ${host}`])
    expect([host, status, JSON.parse(body).page]).toEqual([host, 200, '/x'])
  }
  expect(box.seen).toEqual([])
  await lab.edge.change({ set: [lab.route('sign-in.localhost.example.org', box)], remove: ['sign-in.localhost'] })
  expect(await ask('sign-in.localhost.example.org', null)).toBe(200)
})

test('HTTP/1.0 is served, and its connection is closed unless it asks for keep-alive', async () => {
  client.say(`GET / HTTP/1.0\r\nhost: ${HOST}\r\nauthorization: ${FIRST}\r\n\r\n`)
  await client.closed
  expect(client.heard()).toMatch(/^HTTP\/1\.[01] 200/)
})

test('a program that closes the edge can exit', async () => {
  const lab = JSON.stringify(new URL('../../helpers/edge/lab.ts', import.meta.url).href)
  const program = `import { createEdgeLab } from ${lab}
const lab = createEdgeLab()
await lab.open()
await lab.close()`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  try {
    expect(await once(child, 'exit')).toEqual([0, null])
  } finally {
    child.kill('SIGKILL')
  }
})
