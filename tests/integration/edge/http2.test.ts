import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { TOKEN_PREFIX } from '../../../shared/auth/tokens.ts'
import { makeCertificate } from '../../helpers/edge/certificates.ts'
import {
  END_HEADERS,
  END_STREAM,
  frame,
  H2_FRAME,
  headBlock,
  type RawHeader,
  requestFrame,
  sendFrames,
} from '../../helpers/edge/http2-frames.ts'
import { createEdgeLab, type EdgeLab, grantOf, type Upstream } from '../../helpers/edge/lab.ts'
import { eventually } from '../../helpers/eventually.ts'

const TOKEN = `${TOKEN_PREFIX}payload.signature`
/** Two siblings with the same certificate and address, so browsers use one connection for both. */
const OPEN = 'a.example.test'
const SHUT = 'b.a.example.test'
const BEARER: RawHeader = ['authorization', `Bearer ${TOKEN}`]
const SESSION: RawHeader = ['cookie', '__Host-boxyard=the-session']

let directory: string
let lab: EdgeLab
let open: Upstream
let shut: Upstream

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-certificates-'))
  const served = join(directory, 'served')
  mkdirSync(served)
  const { cert, key } = makeCertificate(directory, 'edge')
  writeFileSync(join(served, 'edge.pem'), `${cert}${key}`)
  lab = createEdgeLab({ certificates: served, scheme: 'https' })
  open = await lab.startUpstream()
  shut = await lab.startUpstream()
  await lab.open({
    routes: [lab.route(OPEN, open), lab.route(SHUT, shut, { auth: 'token' })],
    grants: [grantOf(TOKEN, 'demo'), grantOf('the-session', SHUT)],
  })
  lab.decide(() => ({ kind: 'answer', status: 401, headers: {}, body: '' }))
})
afterAll(async () => {
  await lab.close()
  rmSync(directory, { recursive: true, force: true })
})
beforeEach(() => {
  for (const list of [open.seen, shut.seen, lab.asked]) list.length = 0
})

const head = (host: string, changed: Record<string, string> = {}): RawHeader[] =>
  Object.entries({ ':method': 'GET', ':scheme': 'https', ':authority': host, ':path': '/', ...changed })

/** Sends frames of stream 1. Returns the status, or 0 if the edge accepted no frame. */
async function send(...frames: Buffer[]): Promise<number> {
  return (await sendFrames({ port: lab.edge.port, ca: null }, frames)).statuses.get(1) ?? 0
}

const ask = (headers: readonly RawHeader[]): Promise<number> => send(requestFrame(1, headers))

describe('a head of HTTP/2', () => {
  test.each<[string, RawHeader[]]>([
    ['two authorities', [...head(OPEN), [':authority', SHUT]]],
    ['two paths', [...head(OPEN), [':path', '/b']]],
    ['two methods', [...head(OPEN), [':method', 'POST']]],
    ['a pseudo-header after others', [['x', 'y'], ...head(OPEN)]],
    ['a pseudo-header that is none', [...head(OPEN), [':x', 'y']]],
    ['one of answers', [...head(OPEN), [':status', '200']]],
    ['no path', head(OPEN).filter(([name]) => name !== ':path')],
    ['an empty path', head(OPEN, { ':path': '' })],
    ['a star', head(OPEN, { ':path': '*' })],
    ['a star in OPTIONS', head(OPEN, { ':path': '*', ':method': 'OPTIONS' })],
    ['a path that is an URL', head(OPEN, { ':path': `http://${SHUT}/` })],
    ['a path that begins with a user', head(OPEN, { ':path': `@${SHUT}/` })],
    ['a path with a request line', head(OPEN, { ':path': '/ HTTP/1.1' })],
    ['a path with a line end', head(OPEN, { ':path': '/\r\nhost: b' })],
    ['a method with a request line', head(OPEN, { ':method': 'GET / HTTP/1.1\r\nx:' })],
    ['a scheme with a host', head(OPEN, { ':scheme': `https://${SHUT}/?` })],
    ['another scheme', head(OPEN, { ':scheme': 'ftp' })],
    ['another scheme at a private host', [...head(SHUT, { ':scheme': 'ftp' }), BEARER]],
    ['another scheme at the pages of the edge', head(OPEN, { ':scheme': 'ftp', ':path': '/.boxyard/session' })],
    ['a user in the authority', head(`user@${OPEN}`)],
    ['a path in the authority', head(`${OPEN}/x`)],
    ['a list in the authority', head(`${OPEN},${SHUT}`)],
    ['a line end in the authority', head(`${OPEN}\r\nx: y`)],
    ['an underscore in the authority', head(`_x.${OPEN}`)],
    ['bytes beyond ASCII in the authority', head('b\xc3\xbccher.example.test')],
    ['no authority', head('')],
    ['a line end in a value', [...head(OPEN), ['x', 'a\r\nhost: b']]],
    ['a NUL in a value', [...head(OPEN), ['x', 'a\0b']]],
    ['capitals in a name', [...head(OPEN), ['X-Up', 'a']]],
    ['a colon in a name', [...head(OPEN), ['x:y', 'a']]],
    ['a space in a name', [...head(OPEN), ['transfer-encoding ', 'chunked']]],
    ['an encoding', [...head(OPEN), ['transfer-encoding', 'chunked']]],
    ['a header of the connection', [...head(OPEN), ['connection', 'close']]],
    ['an upgrade', [...head(OPEN), ['upgrade', 'websocket']]],
    ['two lengths', [...head(OPEN), ['content-length', '1'], ['content-length', '2']]],
    ['a signed length', [...head(OPEN), ['content-length', '+0']]],
    ['two authorizations', [...head(SHUT), ['authorization', 'Basic x'], BEARER]],
    ['more sessions than are cut', [...head(OPEN), ...Array.from({ length: 20 }, (): RawHeader => SESSION)]],
    [
      'CONNECT to an address',
      [
        [':method', 'CONNECT'],
        [':authority', '127.0.0.1:22'],
      ],
    ],
    ['CONNECT with a path', head(OPEN, { ':method': 'CONNECT' })],
    ['TRACE', head(OPEN, { ':method': 'TRACE' })],
  ])('with %s reaches no box', async (_what, headers) => {
    expect([0, 400, 405]).toContain(await ask(headers))
    expect([...open.seen, ...shut.seen, ...lab.asked]).toEqual([])
  })

  test.each<[string, RawHeader[]]>([
    ['capitals', head('A.Example.TEST')],
    ['a port', head(`${OPEN}:8443`)],
    ['a trailing dot', head(`${OPEN}.`)],
    ['only a Host', [...head(OPEN).filter(([name]) => name !== ':authority'), ['host', OPEN]]],
    ['the scheme of HTTP', head(OPEN, { ':scheme': 'http' })],
  ])('with %s reaches the box that it names', async (_what, headers) => {
    expect(await ask(headers)).toBe(200)
    expect(open.seen).toMatchObject([{ target: '/' }])
  })

  test('counts its authority and no other Host, for the box as for the rights', async () => {
    expect(await ask([...head(OPEN), ['host', SHUT], ['host', 'c.example.test']])).toBe(200)
    expect(open.seen).toMatchObject([{ headers: { host: OPEN } }])
    expect(await ask([...head(SHUT), ['host', OPEN]])).toBe(401)
    expect(await ask([...head(SHUT), ['host', OPEN], BEARER])).toBe(200)
    expect(open.seen).toHaveLength(1)
    expect(shut.seen).toMatchObject([{ headers: { host: SHUT } }])
  })

  test('is without credentials and forwarded addresses when the box gets it', async () => {
    const forged = ['x-forwarded-for', 'x-real-ip', 'forwarded', 'x_forwarded_for', 'http2-settings']
    const cookies: RawHeader[] = [['cookie', 'a=1'], SESSION, ['cookie', '__Host-boxyard-nonce=n; b=2']]
    const headers = [...head(SHUT), BEARER, ...cookies, ...forged.map((name): RawHeader => [name, '6.6.6.6'])]
    expect(await ask(headers)).toBe(200)
    const { headers: seen } = shut.seen[0] ?? { headers: {} }
    expect(seen).toMatchObject({ cookie: 'a=1; b=2', 'x-forwarded-for': '127.0.0.1' })
    expect(JSON.stringify(seen)).not.toMatch(/6\.6\.6\.6|payload|the-session/)
  })
})

describe('a body of HTTP/2', () => {
  const smuggled = Buffer.from(`GET /smuggled HTTP/1.1\r\nhost: ${OPEN}\r\n\r\n`)
  const post = (...more: RawHeader[]): Buffer =>
    frame(H2_FRAME.headers, END_HEADERS, 1, headBlock([...head(OPEN, { ':method': 'POST' }), ...more]))
  const data = (body: Buffer, flags: number = END_STREAM): Buffer => frame(H2_FRAME.data, flags, 1, body)

  test.each([0, 3, smuggled.length - 1, smuggled.length + 1])(
    'that is not as long as it says, %d, is refused',
    async (length) => {
      expect(await send(post(['content-length', String(length)]), data(smuggled))).toBe(0)
      expect(open.seen.filter(({ target }) => target === '/smuggled')).toEqual([])
    },
  )

  test('that looks like the end of one and another request is one body', async () => {
    expect(await send(post(), data(Buffer.concat([Buffer.from('0\r\n\r\n'), smuggled])))).toBe(200)
    expect(open.seen.map(({ target }) => target)).toEqual(['/'])
  })

  test('ends with trailers that hide no request', async () => {
    const trailers = headBlock([['x', `a\r\n\r\n${smuggled.toString()}`]])
    expect(
      await send(post(), data(Buffer.from('a'), 0), frame(H2_FRAME.headers, END_STREAM | END_HEADERS, 1, trailers)),
    ).toBe(0)
    expect(open.seen.filter(({ target }) => target === '/smuggled')).toEqual([])
  })
})

describe('a WebSocket over HTTP/2', () => {
  const socket = (origin: string): RawHeader[] => [
    [':method', 'CONNECT'],
    [':protocol', 'websocket'],
    ...head(SHUT).filter(([name]) => name !== ':method'),
    ['sec-websocket-version', '13'],
    ['origin', origin],
    SESSION,
  ]

  test('of a sibling is refused, and of its own page passes', async () => {
    expect(await ask(socket(`https://${OPEN}`))).toBe(403)
    expect(shut.seen).toEqual([])
    // HAProxy answers 400 if the upstream's answer opens no socket.
    expect([200, 400]).toContain(await ask(socket(`https://${SHUT}`)))
  })
})

describe('one connection of HTTP/2', () => {
  test('carries requests of siblings to the box of each, with the rights of each', async () => {
    const frames = [
      requestFrame(1, [...head(SHUT), BEARER]),
      requestFrame(3, head(SHUT)),
      requestFrame(5, [...head(SHUT), SESSION, ['sec-fetch-site', 'same-origin']]),
      requestFrame(7, [...head(SHUT), SESSION, ['sec-fetch-site', 'same-site']]),
      requestFrame(9, [...head(OPEN), BEARER]),
    ]
    const place = { port: lab.edge.port, ca: null }
    const statuses = async (last: number): Promise<number | undefined> =>
      (await sendFrames(place, frames, last)).statuses.get(last)
    expect([await statuses(1), await statuses(3), await statuses(5), await statuses(7), await statuses(9)]).toEqual([
      200, 401, 200, 403, 200,
    ])
    expect(JSON.stringify([...open.seen, ...shut.seen])).not.toMatch(/payload|the-session/)
  })

  test('with a head that never ends is closed', async () => {
    const [begun, more] = [head(OPEN), headBlock([['x', 'y'.repeat(8_000)]])]
    const endless = Array.from({ length: 64 }, () => frame(H2_FRAME.continuation, 0, 1, more))
    const { goAway } = await sendFrames({ port: lab.edge.port, ca: null }, [
      frame(H2_FRAME.headers, 0, 1, headBlock(begun)),
      ...endless,
    ])
    expect(goAway).toBeGreaterThan(0)
  })

  test('whose requests are all reset leaves nothing open', async () => {
    const cancel = Buffer.from([0, 0, 0, 8])
    const pairs = Array.from({ length: 500 }, (_, index) => 2 * index + 1).flatMap((stream) => [
      requestFrame(stream, head(OPEN)),
      frame(H2_FRAME.reset, 0, stream, cancel),
    ])
    const { statuses } = await sendFrames(
      { port: lab.edge.port, ca: null },
      [...pairs, requestFrame(1_001, head(OPEN))],
      1_001,
    )
    expect([...statuses.keys()]).toContain(1_001)
    await eventually(async () => (await lab.edge.use()).get('box_1')?.open === 0)
    expect(await ask(head(OPEN))).toBe(200)
  })
})
