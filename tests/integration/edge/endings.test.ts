import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { WebSocket } from 'ws'
import { digestOf } from '../../../agent/core/common/digest.ts'
import { createChannelKeys } from '../../../shared/auth/keys.ts'
import { TOKEN_PREFIX } from '../../../shared/auth/tokens.ts'
import { cellEdgeOf } from '../../helpers/edge/cell-labs.ts'
import { makeCertificate } from '../../helpers/edge/certificates.ts'
import { createEdgeLab, type EdgeLab, grantOf, type Upstream } from '../../helpers/edge/lab.ts'
import { eventually } from '../../helpers/eventually.ts'

const HOST = 'shut--demo.localhost'
const PUBLIC = 'open--demo.localhost'
const DEAD = 'dead--demo.localhost'
const [ANN, BEN] = [`${TOKEN_PREFIX}ann`, `${TOKEN_PREFIX}ben`]
const [ANN_SESSION, BEN_SESSION] = ['a'.repeat(43), 'b'.repeat(43)]
const LONG_BEARER = TOKEN_PREFIX + 'l'.repeat(5_000)
const { keys } = createChannelKeys()
const cells = { host: '127.0.0.1', port: 0, tls: null, keys: () => keys }

const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` })
const session = (value: string): Headers => ({
  cookie: `__Host-boxyard=${value}`,
  'sec-fetch-site': 'same-origin',
  'sec-fetch-mode': 'cors',
  'sec-fetch-dest': 'empty',
})

type Headers = Record<string, string>

/** An open request or stream at an edge. */
interface Opened {
  hasEnded(): boolean
  close(): void
}

let lab: EdgeLab
let box: Upstream
let free: Upstream
const opened: Opened[] = []

beforeAll(async () => {
  lab = createEdgeLab({ cells })
  box = await lab.startUpstream(neverEnding)
  free = await lab.startUpstream(neverEnding)
  await open(lab)
})
afterEach(async () => {
  for (const each of opened.splice(0)) each.close()
  await eventually(async () => ((await lab.edge.use()).get('box_1')?.open ?? 0) === 0)
  lab.decide(() => ({ kind: 'answer', status: 401, headers: {}, body: '' }))
  await lab.edge.grant(grants())
})
afterAll(() => lab.close())

function grants() {
  return [
    ...[ANN, BEN, LONG_BEARER].map((token) => grantOf(token, 'demo')),
    ...[ANN_SESSION, BEN_SESSION].map((value) => grantOf(value, HOST)),
  ]
}

function open(one: EdgeLab): Promise<unknown> {
  const routes = [one.route(HOST, box, { auth: 'token' }), one.route(PUBLIC, free, { boxId: 'box_2' })]
  return one.open({ routes, grants: grants() })
}

/** Begins an answer, except for `/silent`, and never ends it. */
function neverEnding(incoming: IncomingMessage, outgoing: ServerResponse): void {
  incoming.resume()
  if (incoming.url === '/silent') return
  outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
  outgoing.write('data: 0\n\n')
}

interface Where {
  host?: string
  at?: EdgeLab
}

async function openSocket(headers: Headers, { host = HOST, at = lab }: Where = {}): Promise<Opened> {
  const origin = `http://${host}`
  const socket = new WebSocket(`ws://127.0.0.1:${at.edge.port}/`, { headers: { host, origin, ...headers } })
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  const end = { hasEnded: () => socket.readyState === WebSocket.CLOSED, close: () => socket.terminate() }
  opened.push(end)
  return end
}

/** Sends a request, and resolves once it has reached the box. */
async function openRequest(headers: Headers, path = '/', { host = HOST, at = lab }: Where = {}): Promise<Opened> {
  const upstream = host === PUBLIC ? free : box
  const before = upstream.seen.length
  let hasEnded = false
  const method = path === '/silent' ? 'POST' : 'GET'
  const outgoing = request({ host: '127.0.0.1', port: at.edge.port, path, method, headers: { host, ...headers } })
  outgoing.once('response', (answer) => answer.resume().once('error', () => undefined))
  outgoing.once('error', () => undefined).once('close', () => (hasEnded = true))
  if (method === 'POST') outgoing.write('a')
  else outgoing.end()
  await eventually(() => upstream.seen.length > before)
  const end = { hasEnded: () => hasEnded, close: () => outgoing.destroy() }
  opened.push(end)
  return end
}

const KINDS: [string, (headers: Headers) => Promise<Opened>][] = [
  ['a WebSocket', openSocket],
  ['an event stream', (headers) => openRequest({ ...headers, accept: 'text/event-stream' })],
  ['an answer', openRequest],
  ['an upload that has no answer', (headers) => openRequest({ origin: `http://${HOST}`, ...headers }, '/silent')],
]
const CREDENTIALS: [string, string, string, (credential: string) => Headers][] = [
  ['bearer', ANN, BEN, bearer],
  ['session', ANN_SESSION, BEN_SESSION, session],
  ['long bearer', LONG_BEARER, BEN, bearer],
]

describe.each(CREDENTIALS)('by a %s', (_name, revoked, kept, headersOf) => {
  test.each(KINDS)('%s ends when it is revoked, and those of others go on', async (_kind, openOne) => {
    const theirs = await openSocket(headersOf(kept))
    const events = await openRequest({ ...headersOf(kept), accept: 'text/event-stream' })
    const visitor = await openRequest({}, '/', { host: PUBLIC })
    const own = [await openOne(headersOf(revoked)), await openOne(headersOf(revoked))]
    await lab.edge.revoke([digestOf(revoked)])
    await eventually(() => own.every((each) => each.hasEnded()))
    expect([theirs, events, visitor].map((each) => each.hasEnded())).toEqual([false, false, false])
  })
})

test('a request that the gate let pass ends as well', async () => {
  const [token, value] = [`${TOKEN_PREFIX}gate`, 'c'.repeat(43)]
  lab.decide(async () => {
    await lab.edge.grant([grantOf(token, 'demo'), grantOf(value, HOST)])
    return { kind: 'forward', route: lab.route(HOST, box, { auth: 'token' }) }
  })
  const byToken = await openSocket(bearer(token))
  await lab.edge.revoke([digestOf(value)])
  const bySession = await openSocket(session(value))
  expect(await lab.edge.credentials()).toEqual(new Set([digestOf(token), digestOf(value)]))
  await lab.edge.revoke([digestOf(token)])
  await eventually(() => byToken.hasEnded())
  expect(bySession.hasEnded()).toBe(false)
  await lab.edge.revoke([digestOf(value)])
  await eventually(() => bySession.hasEnded())
})

test('a session does not pass as a bearer, nor a bearer as a session', async () => {
  lab.decide(() => ({ kind: 'answer', status: 401, headers: {}, body: '' }))
  const status = async (lines: string[]): Promise<number> =>
    (await lab.ask(['GET / HTTP/1.1', `host: ${HOST}`, ...lines])).status
  expect(await status([`authorization: Bearer ${ANN_SESSION}`])).toBe(401)
  await lab.edge.grant([grantOf(`${TOKEN_PREFIX}odd`, HOST)])
  expect(await status([`authorization: Bearer ${TOKEN_PREFIX}odd`])).toBe(401)
})

test('a grant that expires ends what it admitted', async () => {
  await lab.edge.grant([grantOf(ANN, 'demo', 2_000)])
  const [own, theirs] = [await openSocket(bearer(ANN)), await openSocket(bearer(BEN))]
  await eventually(() => own.hasEnded())
  expect(theirs.hasEnded()).toBe(false)
})

test('where several have plain answers of one port open, the last resort ends all of these alone', async () => {
  const [own, theirs] = [await openRequest(bearer(ANN)), await openRequest(bearer(BEN))]
  const socket = await openSocket(bearer(BEN))
  await lab.edge.revoke([digestOf(ANN)])
  await eventually(() => own.hasEnded() && theirs.hasEnded())
  expect(socket.hasEnded()).toBe(false)
})

test.each(['directly', 'through the agent'])(
  'streams of a client with too many refusals end as well, to a server that is reached %s',
  async (way) => {
    const crowded = createEdgeLab({ limits: { connections: 200, connectionsPerSecond: 1_000, questionsPerSecond: 1 } })
    const onLoopback = createServer(neverEnding)
    await new Promise<void>((resolve) => onLoopback.listen(0, '127.0.0.1', resolve))
    try {
      await open(crowded)
      const elsewhere = { address: '127.9.1.3', port: 9 }
      crowded.loopback.set(`${elsewhere.address}:9`, (onLoopback.address() as AddressInfo).port)
      const own = way === 'directly' ? [] : [crowded.route(HOST, elsewhere, { auth: 'token' })]
      const dead = crowded.route(DEAD, { address: '127.9.1.2', port: 9 }, { boxId: 'box_3' })
      await crowded.edge.change({ set: [...own, dead] })
      await eventually(async () => (await crowded.ask(['GET / HTTP/1.1', `host: ${DEAD}`])).status === 429)
      const theirs = await openSocket(bearer(BEN), { host: PUBLIC, at: crowded })
      const stream = await openEvents(bearer(ANN), crowded)
      await crowded.edge.revoke([digestOf(ANN)])
      await eventually(() => stream.hasEnded())
      expect(theirs.hasEnded()).toBe(false)
    } finally {
      await crowded.close()
      onLoopback.closeAllConnections()
      onLoopback.close()
    }
  },
)

/** Opens an event stream at an edge, and resolves once it is answered. */
async function openEvents(headers: Headers, at: EdgeLab): Promise<Opened> {
  const all = { host: HOST, accept: 'text/event-stream', ...headers }
  const outgoing = request({ host: '127.0.0.1', port: at.edge.port, headers: all })
  let hasEnded = false
  outgoing.once('error', () => undefined).once('close', () => (hasEnded = true))
  const answered = new Promise<number>((resolve) =>
    outgoing.once('response', (answer) => {
      answer.resume().once('error', () => undefined)
      resolve(answer.statusCode ?? 0)
    }),
  )
  outgoing.end()
  expect(await answered).toBe(200)
  const end = { hasEnded: () => hasEnded, close: () => outgoing.destroy() }
  opened.push(end)
  return end
}

test('what was revoked while no agent ran ends when the next one opens the edge', async () => {
  const [own, theirs] = [await openSocket(bearer(ANN)), await openSocket(bearer(BEN))]
  await lab.leave()
  await lab.open({ routes: [lab.route(HOST, box, { auth: 'token' })], grants: [grantOf(BEN, 'demo')] })
  await eventually(() => own.hasEnded())
  expect(theirs.hasEnded()).toBe(false)
  await lab.edge.change({ set: [lab.route(PUBLIC, free, { boxId: 'box_2' })] })
})

test('it tells the credentials of open requests', async () => {
  expect([...(await lab.edge.credentials())]).toEqual([])
  const own = await openSocket(session(ANN_SESSION))
  await openRequest({}, '/', { host: PUBLIC })
  expect([...(await lab.edge.credentials())]).toEqual([digestOf(ANN_SESSION)])
  own.close()
  await eventually(async () => (await lab.edge.credentials()).size === 0)
})

test('through the edge of another cell they end as well', async () => {
  const entry = createEdgeLab({ cells })
  try {
    await entry.open()
    await entry.edge.lead({ set: new Map([[HOST, cellEdgeOf(lab)]]) })
    const own = [await openSocket(bearer(ANN), { at: entry }), await openRequest(bearer(ANN), '/silent', { at: entry })]
    const theirs = await openSocket(bearer(BEN), { at: entry })
    await lab.edge.revoke([digestOf(ANN)])
    await eventually(() => own.every((each) => each.hasEnded()))
    expect(theirs.hasEnded()).toBe(false)
  } finally {
    await entry.close()
  }
})

test('a stream of HTTP/2 ends, and others of its connection go on', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'boxyard-endings-'))
  const certificates = join(directory, 'served')
  mkdirSync(certificates)
  const { cert, key } = makeCertificate(directory, 'edge')
  writeFileSync(join(certificates, 'edge.pem'), `${cert}${key}`)
  const encrypted = createEdgeLab({ certificates, scheme: 'https' })
  let connection: ClientHttp2Session | null = null
  try {
    await open(encrypted)
    connection = connectHttp2(`https://127.0.0.1:${encrypted.edge.port}`, { rejectUnauthorized: false })
    connection.on('error', () => undefined)
    const openStream = async (token: string): Promise<Opened> => {
      const before = box.seen.length
      const stream = connection?.request({ ':authority': HOST, accept: 'text/event-stream', ...bearer(token) })
      stream?.on('error', () => undefined).resume()
      await eventually(() => box.seen.length > before)
      return { hasEnded: () => stream?.closed === true, close: () => stream?.close() }
    }
    const [own, theirs] = [await openStream(ANN), await openStream(BEN)]
    await encrypted.edge.revoke([digestOf(ANN)])
    await eventually(() => own.hasEnded())
    expect(theirs.hasEnded()).toBe(false)
  } finally {
    connection?.destroy()
    await encrypted.close()
    rmSync(directory, { recursive: true, force: true })
  }
})
