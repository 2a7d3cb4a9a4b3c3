import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { OPERATIONS } from '../../../shared/routes.ts'
import { createClient } from '../../helpers/front/client.ts'
import { converse } from '../../helpers/front/http-server.ts'
import { startService, type TestService } from '../../helpers/service.ts'

// Sends every operation and invalid requests to every listener of a deployment, and checks what all responses have in common.
const directory = mkdtempSync(join(tmpdir(), 'every-answer-'))
let service: TestService
let edgePort = ''
const client = createClient(
  () => service.url,
  () => service.adminToken,
)
const BOX = '/v1/projects/common/boxes/one'
const EVIL = 'rebound.evil.test'

beforeAll(async () => {
  writeFileSync(join(directory, 'index.html'), '<!doctype html><title>Console</title>')
  writeFileSync(join(directory, 'app.js'), 'true')
  service = await startService({
    settings: { BOXYARD_CONSOLE_DIR: directory, BOXYARD_HOSTS: 'api.example.org,*.names.test' },
  })
  await client.post('/v1/projects/common/boxes', { name: 'one', config: { ram_mb: 64 } })
  edgePort = new URL((await client.get(BOX)).body.url).port
  await client.shell('common', 'one', 'echo hello > /root/a; ln -s /root/a /root/b')
})

afterAll(async () => {
  await service?.close()
  rmSync(directory, { recursive: true, force: true })
})

/** URLs of the listeners, by name. */
const LISTENERS = {
  front: () => service.url,
  data: () => service.dataUrl,
  channel: () => service.agentUrl,
  metrics: () => service.metricsUrl.replace('/metrics', ''),
  edge: () => `http://127.0.0.1:${edgePort}`,
}
type Listener = keyof typeof LISTENERS
const NAMES = Object.keys(LISTENERS) as Listener[]

interface Given {
  method?: string
  headers?: Record<string, string>
  body?: string
}

interface Got {
  status: number
  headers: IncomingHttpHeaders
  text: string
}

/** Sends a request with `path` and `Host` unchanged. An upgrade counts as a response. */
function ask(listener: Listener, path: string, { method = 'GET', headers = {}, body }: Given = {}): Promise<Got> {
  const { hostname: host, port } = new URL(LISTENERS[listener]())
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest({ host, port, path, method, headers, agent: false }, (incoming) => {
      const pieces: Buffer[] = []
      incoming.on('data', (piece: Buffer) => pieces.push(piece))
      incoming.on('error', reject)
      incoming.on('end', () =>
        resolve({
          status: incoming.statusCode ?? 0,
          headers: incoming.headers,
          text: Buffer.concat(pieces).toString(),
        }),
      )
    })
    outgoing.on('upgrade', ({ statusCode = 0, headers: answered }, socket) => {
      socket.destroy()
      resolve({ status: statusCode, headers: answered, text: '' })
    })
    outgoing.setTimeout(ANSWER_MS, () => outgoing.destroy(new Error(`${listener}: ${method} ${path} has no answer`)))
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

const isTold = ({ headers }: Got): boolean => headers['x-content-type-options'] === 'nosniff'
const bearer = (): Record<string, string> => ({ authorization: `Bearer ${service.adminToken}` })
/** Paths of all operations, with names of resources that do not exist. */
const paths = OPERATIONS.map(({ id, method, path }) => ({ id, method, path: path.replaceAll(/\{\w+\}/g, 'none') }))

describe('nosniff', () => {
  test.each(NAMES)(
    'is in the answer to every operation at the %s, with and without a token, of any host',
    async (name) => {
      for (const { id, method, path } of paths)
        for (const headers of [{}, bearer(), { host: EVIL }, { accept: 'text/html' }]) {
          const got = await ask(name, path, { method, headers })
          expect([id, got.status, got.headers['x-content-type-options']]).toEqual([id, got.status, 'nosniff'])
        }
    },
  )

  test.each(NAMES)('is in the answer at the %s to what is no request of its own', async (name) => {
    const asked: [string, Given][] = [
      ['/', {}],
      ['/nothing', { method: 'POST', body: '{', headers: { 'content-type': 'application/json' } }],
      ['/v1/me', { method: 'OPTIONS', headers: { origin: 'https://a.test', 'access-control-request-method': 'GET' } }],
      ['/v1/me', { method: 'HEAD' }],
      ['/v1/me', { method: 'TRACE' }],
      ['/v1/me', { headers: UPGRADE }],
      [`${BOX}/console?ticket=x`, { headers: UPGRADE }],
    ]
    for (const [path, given] of asked) {
      const got = await ask(name, path, given)
      expect([path, given, got.status, isTold(got)]).toEqual([path, given, got.status, true])
    }
  })

  test.each(['front', 'data', 'channel', 'metrics'] as const)(
    'is in the answer at the %s to what is no HTTP',
    async (name) => {
      const { port } = new URL(LISTENERS[name]())
      for (const text of [
        'nonsense\r\n\r\n',
        'CONNECT x:1 HTTP/1.1\r\nhost: x:1\r\n\r\n',
        `GET / HTTP/1.1\r\nhost: localhost\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`,
        'GET / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n',
        'GET / HTTP/1.0\r\n\r\n',
      ]) {
        const heard = await converse(Number(port), text)
        expect([text.slice(0, 20), heard.toLowerCase()]).toEqual([
          text.slice(0, 20),
          expect.stringContaining('\r\nx-content-type-options: nosniff\r\n'),
        ])
      }
    },
  )

  test('is in the answers to reads and archives, whole, in part, unchanged and refused, and to WebSockets', async () => {
    const file = `${BOX}/files/read?path=/root/a`
    const { etag = '' } = (await ask('front', file, { headers: bearer() })).headers
    const upgrade = { ...UPGRADE, 'sec-websocket-protocol': 'v5.channel.k8s.io' }
    const asked: [string, Record<string, string>, number][] = [
      [file, {}, 200],
      [file, { range: 'bytes=1-2' }, 206],
      [file, { range: 'bytes=100-' }, 416],
      [file, { 'if-none-match': String(etag) }, 304],
      [`${BOX}/files/archive?path=/root`, {}, 200],
      [`${BOX}/files/list?path=/root`, {}, 200],
      [BOX, {}, 200],
      [`${BOX}/exec/ws?command=true`, upgrade, 101],
    ]
    for (const [path, headers, status] of asked)
      for (const name of ['front', 'data'] as const) {
        if (name === 'data' && path === BOX) continue
        const got = await ask(name, path, { headers: { ...bearer(), ...headers } })
        expect([name, path, got.status, isTold(got)]).toEqual([name, path, status, true])
      }
  })

  test('is in the answers of the console, and of the metrics', async () => {
    const { etag = '' } = (await ask('front', '/app.js')).headers
    for (const [path, headers, status] of [
      ['/', {}, 200],
      ['/app.js', {}, 200],
      ['/app.js', { 'if-none-match': String(etag) }, 304],
      ['/boxes', { accept: 'text/html' }, 200],
      ['/problems', { accept: 'text/html' }, 200],
    ] as [string, Record<string, string>, number][]) {
      const got = await ask('front', path, { headers })
      expect([path, got.status, isTold(got)]).toEqual([path, status, true])
    }
    const metrics = await ask('metrics', '/metrics')
    expect([metrics.status, isTold(metrics)]).toEqual([200, true])
  })

  test("is in the edge's own answers, and not put into those of a box", async () => {
    const host = 'one--common.localhost'
    const asked: [string, Record<string, string>, number][] = [
      ['/', { host: EVIL }, 404],
      ['/', { host }, 401],
      ['/', { host, accept: 'text/html' }, 302],
      ['/', { host, ...bearer() }, 502],
      ['/', { host, ...bearer(), accept: 'text/html' }, 502],
      ['/', { host: 'sign-in.localhost', accept: 'text/html' }, 200],
      ['/?host=one--common.localhost&target=/', { host: 'sign-in.localhost' }, 400],
      ['/.boxyard/problems', { host }, 200],
      ['/.boxyard/session?code=x', { host }, 401],
      ['/.boxyard/sign-out', { host }, 200],
      ['/.boxyard/nothing', { host }, 404],
      ['/', { host: 'a b' }, 400],
    ]
    for (const [path, headers, status] of asked) {
      const got = await ask('edge', path, { headers })
      expect([path, headers['host'], got.status, isTold(got)]).toEqual([path, headers['host'], status, true])
    }
    await client.put(`${BOX}/services/web`, {
      command: ['/bin/sh', '-c', 'while true; do printf "HTTP/1.0 200 OK\\r\\n\\r\\nhi" | nc -l -p 8080; done'],
    })
    const own = await untilServed(() => ask('edge', '/', { headers: { host, ...bearer() } }))
    expect([own.text, own.headers['x-content-type-options']]).toEqual(['hi', undefined])
  })
})

describe('a host that is not known', () => {
  const MISDIRECTED = [421, 'misdirected_request']
  const outcome = async (name: Listener, path: string, given: Given): Promise<unknown[]> => {
    const { status, text } = await ask(name, path, given)
    return [status, text.startsWith('{') ? (JSON.parse(text) as { code?: string }).code : undefined]
  }

  test('is refused by the front, the data address and the metrics, with the way out', async () => {
    for (const [name, path] of [
      ...['/', '/app.js', '/boxes', '/healthz', '/version', '/openapi.json', '/problems', '/v1/me', '/nothing'].map(
        (each) => ['front', each] as const,
      ),
      ['data', '/problems'],
      ['data', `${BOX}/files/read?path=/root/a`],
      ['metrics', '/metrics'],
    ] as const)
      for (const host of [EVIL, `${EVIL}:80`, '127.0.0.1.evil.test', 'localhost.evil.test', 'evil'])
        expect([name, path, host, ...(await outcome(name, path, { headers: { host } }))]).toEqual([
          ...[name, path, host],
          ...MISDIRECTED,
        ])
    expect((await ask('front', '/healthz', { headers: { host: EVIL } })).text).toContain('BOXYARD_HOSTS')
    const page = await ask('front', '/boxes', { headers: { host: EVIL, accept: 'text/html' } })
    expect([page.status, page.headers['x-frame-options']]).toEqual([421, 'DENY'])
    expect(page.text).toContain('BOXYARD_HOSTS')
  })

  test('is not helped by a session, a sign-in or a wrong token', async () => {
    const origin = `http://${EVIL}`
    const { body, headers } = await client.post('/v1/session', undefined, { headers: { origin: service.url } })
    const session = { 'x-boxyard-session': body.session, cookie: String(headers['set-cookie']).split(';', 1)[0] ?? '' }
    const { ticket } = (await client.post('/v1/session/links')).body
    for (const [path, method, more] of [
      ['/v1/me', 'GET', session],
      ['/v1/session', 'DELETE', session],
      [`/v1/session?ticket=${ticket}`, 'POST', {}],
      ['/v1/session/links', 'GET', { 'x-boxyard-link': ticket }],
      ['/version', 'GET', { authorization: 'Bearer x' }],
    ] as [string, string, Record<string, string>][])
      expect([path, ...(await outcome('front', path, { method, headers: { host: EVIL, origin, ...more } }))]).toEqual([
        path,
        ...MISDIRECTED,
      ])
    expect((await client.get('/v1/me', { token: null, headers: session })).status).toBe(200)
  })

  test('is answered where a valid token or a ticket is shown, which no page of it has', async () => {
    for (const path of ['/v1/me', '/version', '/healthz', BOX])
      expect([path, (await ask('front', path, { headers: { host: EVIL, ...bearer() } })).status]).toEqual([path, 200])
    const made = await client.post(`${BOX}/tickets`, { operation: 'readFile', query: { path: '/root/a' } })
    const { pathname, search } = new URL(made.body.url)
    const got = await ask('data', `${pathname}${search}`, { headers: { host: EVIL } })
    expect([got.status, got.text]).toEqual([200, 'hello\n'])
  })

  test.each([
    ...['127.0.0.1', '127.0.0.1:8080', '192.0.2.7:80', '[::1]:8080', 'localhost', 'LOCALHOST:1', 'web.localhost'],
    ...['api.example.org', 'API.example.org.:443', 'a.b.names.test', hostname(), `${hostname()}.local:8080`],
  ])('is not %s', async (host) => {
    for (const [name, path] of [
      ['front', '/healthz'],
      ['front', '/'],
      ['data', '/problems'],
      ['metrics', '/metrics'],
    ] as const)
      expect([name, (await ask(name, path, { headers: { host } })).status]).toEqual([name, 200])
  })

  test('cannot upgrade without a token', async () => {
    const got = await ask('front', `${BOX}/exec/ws?command=true`, { headers: { ...UPGRADE, host: EVIL } })
    expect(got.status).toBe(421)
  })
})

async function untilServed(get: () => Promise<Got>): Promise<Got> {
  for (;;) {
    const got = await get()
    if (got.status !== 502) return got
  }
}

const ANSWER_MS = 35_000
const UPGRADE = {
  upgrade: 'websocket',
  connection: 'upgrade',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
}
