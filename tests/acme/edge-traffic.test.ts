import { createHash, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request, type ServerResponse } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { WebSocket } from 'ws'
import { type AcmeLab, createAcmeLab } from '../helpers/edge/acme-lab.ts'
import { makeCertificate } from '../helpers/edge/certificates.ts'
import type { Upstream } from '../helpers/edge/lab.ts'
import { askTls, openAnswer, openTls, sayTls, type TlsAnswer, type TlsPlace } from '../helpers/edge/tls-client.ts'
import { eventually } from '../helpers/eventually.ts'

const HOST = 'shop.example.org'
const OTHER = 'shut.example.org'
/** Host name with a certificate supplied by the operator. */
const GIVEN = 'given'

let directory: string
let acme: AcmeLab
let shop: Upstream
let shut: Upstream
let given: string

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-certificates-'))
  mkdirSync(join(directory, 'served'))
  given = give()
  // Uses the umask of a systemd unit.
  const umask = process.umask(0o077)
  try {
    acme = await createAcmeLab({ certificates: join(directory, 'served') })
    ;[shop, shut] = [await acme.lab.startUpstream(), await acme.lab.startUpstream()]
    acme.lab.certified.add(HOST)
    await acme.lab.open({ routes: routes() })
    expect(await acme.lab.edge.problems()).toEqual([])
  } finally {
    process.umask(umask)
  }
})
afterAll(async () => {
  await acme.close()
  rmSync(directory, { recursive: true, force: true })
})
beforeEach(() => {
  shop.seen.length = 0
  shut.seen.length = 0
  acme.lab.asked.length = 0
})

function routes() {
  const { lab } = acme
  return [lab.route(HOST, shop), lab.route(OTHER, shut, { auth: 'token' }), lab.route(GIVEN, shop)]
}

/** Writes another certificate for that name, with its key next to it. Returns the certificate's fingerprint. */
function give(): string {
  const { cert, key } = makeCertificate(directory, GIVEN)
  writeFileSync(join(directory, 'served/own.pem'), cert)
  writeFileSync(join(directory, 'served/own.pem.key'), key)
  return new X509Certificate(cert).fingerprint256
}

async function servedForGiven(): Promise<string> {
  const socket = await openTls({ ...acme.place, ca: null }, GIVEN)
  const { fingerprint256 } = socket.getPeerCertificate()
  socket.destroy()
  return fingerprint256
}

async function askHttp2(
  headers: Record<string, string | string[]>,
): Promise<Pick<TlsAnswer, 'status' | 'text' | 'headers'>> {
  const line = await openTls(acme.place, HOST, ['h2'])
  const session = connectHttp2(`https://${HOST}`, { createConnection: () => line, maxSendHeaderBlockLength: 1024 ** 2 })
  const stream = session.request({ ':path': '/', ':authority': HOST, ...headers })
  let text = ''
  stream.on('data', (piece: Buffer) => (text += piece.toString()))
  const [head] = (await once(stream, 'response')) as [TlsAnswer['headers']]
  await once(stream, 'end')
  session.destroy()
  return { status: Number(head[':status']), text, headers: head }
}

async function openSocket(): Promise<WebSocket> {
  const trust = { servername: HOST, ca: acme.place.ca ?? '' }
  const socket = new WebSocket(`wss://127.0.0.1:${acme.place.port}/`, { headers: { host: HOST }, ...trust })
  await once(socket, 'open')
  return socket
}

describe('a request to a box', () => {
  test('has the address of the client, and never a forged one', async () => {
    const place: TlsPlace = { ...acme.place, localAddress: '127.0.0.9' }
    const forged = {
      'x-forwarded-for': ['10.1.1.1', '10.2.2.2'],
      'x-forwarded-proto': 'http',
      'x-forwarded-host': 'evil.test',
      'x-real-ip': '10.1.1.1',
      forwarded: 'for=10.1.1.1',
      x_forwarded_for: '10.1.1.1',
    }
    const dropping = { ...forged, connection: 'close, x-forwarded-for' }
    for (const headers of [forged, dropping]) expect((await askTls(place, HOST, { headers })).status).toBe(200)
    for (const { headers } of shop.seen) {
      expect(headers).toMatchObject({
        'x-forwarded-for': '127.0.0.9',
        'x-forwarded-proto': 'https',
        'x-forwarded-host': HOST,
        host: HOST,
      })
      for (const name of ['x-real-ip', 'forwarded', 'x_forwarded_for']) expect(headers[name]).toBeUndefined()
    }
    expect(shop.seen).toHaveLength(2)
  })

  test('has the address of each client, also at the gate', async () => {
    const clients = ['127.0.0.11', '127.0.0.12', '127.0.0.13']
    for (const localAddress of clients) {
      await askTls({ ...acme.place, localAddress }, HOST, { headers: { host: 'unknown.example.org' } })
      await askTls({ ...acme.place, localAddress }, HOST)
    }
    expect(shop.seen.map(({ headers }) => headers['x-forwarded-for'])).toEqual(clients)
    expect(acme.lab.asked.map(({ clientAddress, isSecure }) => [clientAddress, isSecure])).toEqual(
      clients.map((address) => [address, true]),
    )
  })

  test('arrives unchanged', async () => {
    const path = '/a%2Fb//c/../d;e?f=%2e%2e&g=a+b&&;h'
    await askTls(acme.place, HOST, { path, headers: { 'accept-encoding': 'br', te: 'trailers' } })
    await askTls(acme.place, HOST)
    const [first, second] = shop.seen
    expect(first?.target).toBe(path)
    expect(first?.headers['accept-encoding']).toBe('br')
    expect(second?.headers['accept-encoding']).toBeUndefined()
    expect(second?.headers['user-agent']).toBeUndefined()
  })
})

test('a client gets the answer of the box, with nothing of Caddy', async () => {
  const upstream = await acme.lab.startUpstream((_incoming, outgoing) => {
    outgoing.setHeader('server', 'mine')
    outgoing.setHeader('set-cookie', ['a=1', 'b=2'])
    outgoing.writeHead(418).end('tea')
  })
  await acme.lab.edge.change({ set: [acme.lab.route(HOST, upstream)] })
  const answer = await askTls(acme.place, HOST)
  await acme.lab.edge.change({ set: [acme.lab.route(HOST, shop)] })
  expect([answer.status, answer.text, answer.headers.server]).toEqual([418, 'tea', 'mine'])
  expect(answer.headers['set-cookie']).toEqual(['a=1', 'b=2'])
  expect([answer.headers.via, (await askTls(acme.place, HOST)).headers.server]).toEqual([undefined, undefined])
})

describe('cookies that a page has stored for all hosts', () => {
  const cookies = Array.from({ length: 170 }, (_, index) => `c${index}=${'x'.repeat(4_000)}`)

  test.each(['http/1.1', 'h2'])('are answered with a page that deletes them: %s', async (protocol) => {
    for (const count of [15, 50, 170]) {
      const headers = { cookie: protocol === 'h2' ? cookies.slice(0, count) : cookies.slice(0, count).join('; ') }
      const {
        status,
        text,
        headers: answered,
      } = protocol === 'h2' ? await askHttp2(headers) : await askTls(acme.place, HOST, { headers })
      const policy = answered['content-security-policy']
      expect([count, status]).toEqual([count, 431])
      const script = /<script>(.+)<\/script>/.exec(text)?.[1] ?? ''
      const digest = createHash('sha256').update(script).digest('base64')
      expect(policy).toContain(`script-src 'sha256-${digest}'`)
      expect(script).toContain('document.cookie=')
    }
    expect(shop.seen).toEqual([])
    const few = { cookie: cookies.slice(0, 3).join('; ') }
    expect((await askTls(acme.place, HOST, { headers: few })).status).toBe(200)
  })
})

describe('streams', () => {
  test('HTTP/2 carries 20 MB up', async () => {
    const line = await openTls(acme.place, HOST, ['h2'])
    const session = connectHttp2(`https://${HOST}`, { createConnection: () => line })
    const stream = session.request({ ':path': '/a?b', ':method': 'PUT', ':authority': HOST })
    let heard = ''
    stream.on('data', (piece: Buffer) => (heard += piece.toString()))
    const ended = once(stream, 'end')
    stream.end(Buffer.alloc(20 * 1024 * 1024))
    await ended
    session.destroy()
    expect(JSON.parse(heard)).toMatchObject({ size: 20 * 1024 * 1024, target: '/a?b' })
    expect(shop.seen).toMatchObject([{ target: '/a?b', headers: { host: HOST } }])
  })

  test('20 MB come down unchanged', async () => {
    const bytes = Buffer.alloc(20 * 1024 * 1024, 'ab')
    const giver = await acme.lab.startUpstream((_incoming, outgoing) => outgoing.end(bytes))
    await acme.lab.edge.change({ set: [acme.lab.route(HOST, giver)] })
    const { text } = await askTls(acme.place, HOST)
    await acme.lab.edge.change({ set: [acme.lab.route(HOST, shop)] })
    expect(text === bytes.toString()).toBe(true)
  })

  test('100 MB go up', async () => {
    const body = Buffer.alloc(100 * 1024 * 1024)
    const { text } = await askTls(acme.place, HOST, { method: 'PUT', body })
    expect(JSON.parse(text)).toMatchObject({ size: body.length })
  })

  test('WebSockets and events go on while the agent is replaced, and events arrive at once', async () => {
    const streams: ServerResponse[] = []
    const events = await acme.lab.startUpstream((_incoming, outgoing) => {
      streams.push(outgoing.writeHead(200, { 'content-type': 'text/event-stream' }))
      outgoing.flushHeaders()
    })
    await acme.lab.edge.change({ set: [acme.lab.route('events.example.org', events)] })
    acme.lab.certified.add('events.example.org')
    const answer = await openAnswer(acme.place, 'events.example.org')
    let heard = ''
    answer.on('data', (piece: Buffer) => (heard += piece.toString()))
    const socket = await openSocket()
    for (const round of [1, 2]) {
      streams[0]?.write(`data: ${round}\n\n`)
      await eventually(() => heard.endsWith(`data: ${round}\n\n`))
      socket.send(`round ${round}`)
      expect(String((await once(socket, 'message'))[0])).toBe(`round ${round}`)
      await acme.lab.leave()
      await acme.lab.open({ routes: [...routes(), acme.lab.route('events.example.org', events)] })
    }
    socket.terminate()
    answer.destroy()
  })
})

describe('HTTP', () => {
  const plain = (target: string, host: string): Promise<{ status: number; location: string | undefined }> =>
    new Promise((resolve, reject) => {
      const place = { host: '127.0.0.1', port: acme.httpPort, agent: false }
      const outgoing = request({ ...place, path: target, method: 'POST', headers: { host } }, (answer) => {
        answer.resume()
        resolve({ status: answer.statusCode ?? 0, location: answer.headers.location })
      })
      outgoing.once('error', reject)
      outgoing.end()
    })

  test('leads to HTTPS, and reaches no box', async () => {
    const location = `https://${HOST}:${acme.place.port}/a?b=c`
    expect(await plain('/a?b=c', `${HOST}:80`)).toEqual({ status: 308, location })
    expect((await plain('/.well-known/acme-challenge/x', HOST)).status).toBe(308)
    expect(shop.seen).toEqual([])
  })
})

describe('one request is one request', () => {
  const statusesOf = async (...lines: string[]): Promise<number[]> => {
    const text = await sayTls(acme.place, HOST, `${lines.join('\r\n')}\r\n\r\n`)
    return [...text.matchAll(/HTTP\/1\.\d (\d+)/g)].map(([, status]) => Number(status))
  }
  const hidden = ['GET /hidden HTTP/1.1', `host: ${OTHER}`, 'connection: close']

  test.each([
    ['two lengths', ['content-length: 0', 'content-length: 44']],
    ['a length and an encoding', ['content-length: 4', 'transfer-encoding: chunked', '', '0']],
    ['an encoding that is none', ['transfer-encoding: xchunked', '', '0']],
    ['a space before the colon', ['content-length : 0']],
    ['a length with a sign', ['content-length: +0']],
    ['two hosts', [`host: ${OTHER}`]],
  ])('with %s', async (_name, lines) => {
    const statuses = await statusesOf('POST /first HTTP/1.1', `host: ${HOST}`, ...lines, '', ...hidden)
    expect([1, 2]).toContain(statuses.length)
    // Bytes after it can form a second request, which has no valid token.
    expect(shut.seen).toEqual([])
    for (const { target } of shop.seen) expect(target).toBe('/first')
  })

  test('another name than that of the handshake needs the token of that name', async () => {
    expect((await askTls(acme.place, HOST, { headers: { host: OTHER } })).status).toBe(404)
    expect(acme.lab.asked.map(({ host }) => host)).toEqual([OTHER])
    expect(shut.seen).toEqual([])
  })
})

test('a supplied certificate is served and none is requested; a new one is loaded by itself', async () => {
  const before = acme.ca.orders()
  expect(await servedForGiven()).toBe(given)
  const next = give()
  await eventually(async () => (await servedForGiven().catch(() => '')) === next, 250)
  expect((await askTls({ ...acme.place, ca: null }, GIVEN)).status).toBe(200)
  writeFileSync(join(directory, 'served/own.pem'), 'no certificate\n')
  await eventually(async () => (await acme.lab.edge.problems()).length > 0, 250)
  expect((await acme.lab.edge.problems())[0]?.code).toBe('edge_outdated')
  expect(await servedForGiven()).toBe(next)
  expect([acme.ca.orders(), acme.lab.wanted.includes(GIVEN)]).toEqual([before, false])
  await eventually(() => acme.caddyPids().length === 1)
})
