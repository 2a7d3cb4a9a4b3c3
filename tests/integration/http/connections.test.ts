import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { afterAll, afterEach, expect, test } from '@jest/globals'
import { boundConnections, type ClosedReason, type ConnectionBounds } from '../../../shared/http/connections.ts'
import type { HttpHandler } from '../../../shared/http/messages.ts'
import { SERVER_OPTIONS, type Serving, serve } from '../../../shared/http/serve.ts'
import { createSourceAddresses } from '../../../shared/http/source-address.ts'
import type { LogFields } from '../../../shared/log.ts'
import { makeCertificate } from '../../helpers/edge/certificates.ts'
import { eventually } from '../../helpers/eventually.ts'
import { type CrowdMember, disperse, openCrowd } from '../../helpers/front/crowd.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const directory = mkdtempSync(join(tmpdir(), 'connections-'))
const closed: Partial<Record<ClosedReason, number>> = {}
const logged: LogFields[] = []
const crowds: CrowdMember[] = []
let serving: Serving | undefined
let bounds: ConnectionBounds
let port = 0

afterEach(async () => {
  disperse(crowds.splice(0))
  await serving?.drain(AbortSignal.abort())
  for (const reason of Object.keys(closed)) delete closed[reason as ClosedReason]
  logged.length = 0
})
afterAll(() => rmSync(directory, { recursive: true }))

interface Started {
  max?: number
  proxies?: string[]
  handler?: HttpHandler
  unreadMs?: number
}

/** Long enough for a busy machine to read a client's data. */
const UNREAD_MS = 2_000

async function start(
  server: Server,
  { max = 40, proxies = [], handler = sayHello, unreadMs = 60_000 }: Started = {},
): Promise<void> {
  const sources = createSourceAddresses(proxies)
  const logger = { ...silentLogger, warn: (_message: string, fields: LogFields = {}) => void logged.push(fields) }
  bounds = boundConnections(server, {
    ...{ listener: 'test', max, sources, logger, unreadMs },
    onClosed: (reason) => (closed[reason] = (closed[reason] ?? 0) + 1),
  })
  serving = serve(server, { handler, logger: silentLogger, now: Date.now, sources })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port
}

async function crowd(count: number, options: { from?: string; text?: string } = {}): Promise<CrowdMember[]> {
  const members = await openCrowd(port, count, options)
  crowds.push(...members)
  return members
}

/** Sends one request from an address. Resolves with the first line of the answer, or `''` if the connection closes. */
async function ask(from: string): Promise<string> {
  const [member] = await crowd(1, { from, text: 'GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n' })
  await eventually(() => member?.isClosed === true)
  return member?.heard.split('\r\n')[0] ?? ''
}

const sayHello: HttpHandler = async () => ({ status: 200, headers: {}, body: 'hello' })
const never: HttpHandler = () => new Promise(() => undefined)

test('silent connections of one address take no more than half, of two no more than a third each, and others are answered', async () => {
  await start(createServer(SERVER_OPTIONS))
  await crowd(100, { from: '127.0.0.2' })
  await eventually(() => bounds.open() === 20)
  expect(await ask('127.0.0.3')).toBe('HTTP/1.1 200 OK')
  await crowd(100, { from: '127.0.0.4' })
  await eventually(() => bounds.open() < 40)
  expect(await ask('127.0.0.3')).toBe('HTTP/1.1 200 OK')
  // This also holds for an address that has silent connections.
  expect(await ask('127.0.0.2')).toBe('HTTP/1.1 200 OK')
  expect(closed.displaced).toBeGreaterThan(100)
  expect(closed.refused ?? 0).toBe(0)
  expect(logged).toHaveLength(1)
})

test('silent connections of many addresses give way to a new one', async () => {
  await start(createServer(SERVER_OPTIONS))
  for (let i = 0; i < 60; i++) await crowd(2, { from: `127.0.1.${i + 1}` })
  expect(bounds.open()).toBeLessThanOrEqual(40)
  expect(await ask('127.0.0.3')).toBe('HTTP/1.1 200 OK')
})

test('requests that wait for their answers are not displaced, and their address gets no more than its share', async () => {
  await start(createServer(SERVER_OPTIONS), { handler: never })
  const text = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'
  await crowd(20, { from: '127.0.0.2', text })
  await eventually(() => serving?.inFlight() === 20)
  const late = await crowd(30, { from: '127.0.0.2', text })
  await eventually(() => late.every(({ isClosed }) => isClosed) === true)
  expect([serving?.inFlight(), bounds.open()]).toEqual([20, 20])
  expect(closed).toEqual({ refused: 30 })
  await crowd(1, { from: '127.0.0.3', text })
  await eventually(() => serving?.inFlight() === 21)
})

test('connections of a trusted proxy are bounded in all alone', async () => {
  await start(createServer(SERVER_OPTIONS), { proxies: ['127.0.0.2'], handler: never })
  const text = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'
  await crowd(40, { from: '127.0.0.2', text })
  await eventually(() => serving?.inFlight() === 40)
  await crowd(20, { from: '127.0.0.2', text })
  await eventually(() => closed.refused === 20)
  expect(bounds.open()).toBe(40)
})

test('TLS handshakes that are never finished give way to a client that speaks', async () => {
  const own = makeCertificate(directory, 'own')
  await start(createTlsServer({ ...SERVER_OPTIONS, ...own }))
  await crowd(100, { from: '127.0.0.1' })
  await eventually(() => bounds.open() === 20)
  let heard = ''
  const client = connectTls({ port, host: '127.0.0.1', ca: own.cert, servername: '' })
  client.on('data', (chunk) => (heard += chunk.toString('latin1'))).on('error', () => undefined)
  client.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  await eventually(() => heard.includes('hello'))
  // The connection is kept alive without a request, and is as silent as the others. The oldest ones are closed first.
  await crowd(19, { from: '127.0.0.1' })
  await eventually(() => closed.displaced === 100)
  expect(client.closed).toBe(false)
  client.destroy()
  await eventually(() => bounds.open() === 19)
})

test('a request over TLS that waits for its answer is not displaced', async () => {
  const own = makeCertificate(directory, 'own')
  await start(createTlsServer({ ...SERVER_OPTIONS, ...own }), { handler: never })
  const client = connectTls({ port, host: '127.0.0.1', ca: own.cert, servername: '' })
  client.on('error', () => undefined)
  client.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  await eventually(() => serving?.inFlight() === 1)
  await crowd(100, { from: '127.0.0.1' })
  await eventually(() => closed.displaced === 81)
  expect([client.closed, serving?.inFlight(), bounds.open()]).toEqual([false, 1, 20])
  client.destroy()
})

test('a client that takes nothing of its answer is cut off, and one that waits for a slow answer is not', async () => {
  let say = (_text: string): void => undefined
  const handler: HttpHandler = async ({ target }) =>
    target === '/large'
      ? { status: 200, headers: {}, body: Buffer.alloc(16 * 1024 * 1024) }
      : { status: 200, headers: {}, body: await new Promise<string>((resolve) => (say = resolve)) }
  await start(createServer(SERVER_OPTIONS), { handler, unreadMs: UNREAD_MS })
  const [slow] = await crowd(1, { from: '127.0.0.3', text: 'GET /slow HTTP/1.1\r\nhost: a\r\n\r\n' })
  const [deaf] = await crowd(1, { from: '127.0.0.2', text: 'GET /large HTTP/1.1\r\nhost: a\r\n\r\n' })
  deaf?.socket.pause()
  await eventually(() => closed.unread === 1)
  await eventually(() => bounds.open() === 1)
  say('at last')
  await eventually(() => slow?.heard.includes('at last') === true)
  // The server closes a kept-alive connection that sends no further request.
  await eventually(() => bounds.open() === 1)
})

test('answers that nobody takes fill a share of the memory, and then their connections are closed', async () => {
  const body = Buffer.alloc(8 * 1024 * 1024)
  const server = createServer(SERVER_OPTIONS)
  await start(server, { max: 200, handler: async () => ({ status: 200, headers: {}, body }) })
  server.timeout = 0
  const text = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'
  const deaf = await crowd(40, { from: '127.0.0.2', text })
  for (const { socket } of deaf) socket.pause()
  // Half of 128 MiB holds eight, and a few more that the kernel partly buffers.
  await eventually(() => bounds.open() <= 20)
  const [other] = await crowd(1, { from: '127.0.0.3', text })
  await eventually(() => (other?.heard.length ?? 0) > body.length)
})

test('answers that nobody takes are shared by the accounts that they are for, whatever address they go to', async () => {
  const body = Buffer.alloc(8 * 1024 * 1024)
  const server = createServer(SERVER_OPTIONS)
  const handler: HttpHandler = async ({ target }) => ({ status: 200, headers: {}, body, account: target })
  await start(server, { max: 200, handler })
  server.timeout = 0
  const textFor = (account: string): string => `GET /${account} HTTP/1.1\r\nhost: a\r\n\r\n`
  const deaf = await crowd(40, { from: '127.0.0.2', text: textFor('loud') })
  for (const { socket } of deaf) socket.pause()
  await eventually(() => bounds.open() <= 20)
  const [other] = await crowd(1, { from: '127.0.0.2', text: textFor('calm') })
  await eventually(() => (other?.heard.length ?? 0) > body.length)
})

test('a WebSocket is neither displaced nor closed for silence, and a half-closed connection is closed', async () => {
  const server = createServer(SERVER_OPTIONS)
  const upgraded: Socket[] = []
  server.on('upgrade', (_incoming, socket: Socket) => void upgraded.push(socket))
  await start(server, { unreadMs: UNREAD_MS })
  const text = 'GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n'
  const [client] = await crowd(1, { text })
  await eventually(() => upgraded.length === 1)
  await crowd(100)
  // Some may have exceeded the idle timeout before.
  await eventually(() => (closed.displaced ?? 0) > 0)
  // The server closes silent connections after a while.
  await eventually(() => bounds.open() === 1)
  expect(client?.isClosed).toBe(false)
  const [half] = await crowd(1)
  half?.socket.end()
  await eventually(() => half?.isClosed === true)
  for (const socket of upgraded) socket.destroy()
})

test('the client behind a trusted proxy is told apart', async () => {
  const handler: HttpHandler = async ({ clientAddress }) => ({ status: 200, headers: {}, body: clientAddress })
  await start(createServer(SERVER_OPTIONS), { proxies: ['127.0.0.2'], handler })
  const text = 'GET / HTTP/1.1\r\nhost: a\r\nx-forwarded-for: 198.51.100.1, 203.0.113.9\r\n\r\n'
  const [[proxied], [own]] = [await crowd(1, { from: '127.0.0.2', text }), await crowd(1, { from: '127.0.0.3', text })]
  await eventually(() => proxied?.heard.endsWith('203.0.113.9') === true)
  await eventually(() => own?.heard.endsWith('127.0.0.3') === true)
})

test('a connection with many requests sent ahead of their answers is closed', async () => {
  await start(createServer(SERVER_OPTIONS), { handler: never })
  const [few] = await crowd(1, { text: 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(6) })
  await eventually(() => serving?.inFlight() === 6)
  const [many] = await crowd(1, { from: '127.0.0.2', text: 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(1000) })
  await eventually(() => many?.isClosed === true)
  await eventually(() => serving?.inFlight() === 6)
  expect(few?.isClosed).toBe(false)
})

test('connections over a unix socket are bounded in all', async () => {
  const server = createServer(SERVER_OPTIONS)
  await start(server)
  const other = createServer(SERVER_OPTIONS)
  const path = join(directory, 'socket')
  const of = boundConnections(other, {
    ...{ listener: 'unix', max: 10, sources: createSourceAddresses([]), logger: silentLogger },
  })
  await new Promise<void>((resolve) => other.listen(path, resolve))
  crowds.push(...(await openCrowd(path, 50)))
  await eventually(() => of.open() === 10)
  other.close()
  other.closeAllConnections()
})
