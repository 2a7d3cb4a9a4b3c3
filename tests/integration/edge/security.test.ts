import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createEdgeLab, type EdgeLab, type Upstream } from '../../helpers/edge/lab.ts'

const OPEN = 'open--demo.localhost'
const SHUT = 'shut--demo.localhost'

let lab: EdgeLab
let open: Upstream
let shut: Upstream

beforeAll(async () => {
  lab = createEdgeLab()
  open = await lab.startUpstream()
  shut = await lab.startUpstream()
  await lab.open({
    routes: [lab.route(OPEN, open, { boxId: 'box_open' }), lab.route(SHUT, shut, { boxId: 'box_shut', auth: 'token' })],
  })
  lab.decide(() => ({ kind: 'answer', status: 401, headers: {}, body: 'asked' }))
})
afterAll(() => lab.close())
beforeEach(() => {
  open.seen.length = 0
  shut.seen.length = 0
  lab.asked.length = 0
})

/** Sends the lines, and returns the status of every response. */
async function statusesOf(...lines: string[]): Promise<number[]> {
  const text = await lab.say(`${lines.join('\r\n')}\r\n\r\n`)
  return [...text.matchAll(/HTTP\/1\.\d (\d+)/g)].map(([, status]) => Number(status))
}

describe('exactly one valid host', () => {
  test.each([
    ['none', 'GET / HTTP/1.1', 'x: y'],
    ['none in HTTP/1.0', 'GET / HTTP/1.0'],
    ['two', 'GET / HTTP/1.1', `host: ${OPEN}`, `host: ${SHUT}`],
    ['a list', 'GET / HTTP/1.1', `host: ${OPEN}, ${SHUT}`],
    ['an empty one', 'GET / HTTP/1.1', 'host:'],
    ['one with a user', 'GET / HTTP/1.1', `host: ${OPEN}@${SHUT}`],
    ['an encoded one', 'GET / HTTP/1.1', 'host: open--demo%2elocalhost'],
    ['one with a path', 'GET / HTTP/1.1', `host: ${OPEN}/x`],
    ['one with a space', 'GET / HTTP/1.1', `host: ${OPEN} ${SHUT}`],
    ['an IPv6 address', 'GET / HTTP/1.1', 'host: [::1]'],
    ['two trailing dots', 'GET / HTTP/1.1', `host: ${OPEN}..`],
    ['a port that is none', 'GET / HTTP/1.1', `host: ${OPEN}:http`],
    ['a control byte', 'GET / HTTP/1.1', `host: ${OPEN}\x01`],
    ['a byte beyond ASCII', 'GET / HTTP/1.1', `host: ${OPEN}\xe9`],
    ['a command', 'GET / HTTP/1.1', `host: ${OPEN};shutdown`],
    ['more than 253 characters', 'GET / HTTP/1.1', `host: ${'a.'.repeat(150)}localhost`],
    ['another in the target', `GET http://${SHUT}/ HTTP/1.1`, `host: ${OPEN}`],
    ['a user in the target', `GET http://${OPEN}@${SHUT}/ HTTP/1.1`, `host: ${OPEN}`],
    ['another in the target, with a user', `GET http://user@${OPEN}/ HTTP/1.1`, `host: ${OPEN}`],
    ['a target that is no path', 'GET open HTTP/1.1', `host: ${OPEN}`],
    ['a target of another scheme', `GET file:///etc/passwd HTTP/1.1`, `host: ${OPEN}`],
    ['a star', 'OPTIONS * HTTP/1.1', `host: ${OPEN}`],
  ])('a request with %s is refused, and reaches no box', async (_name, ...lines) => {
    const statuses = await statusesOf(...lines, 'connection: close')
    expect(statuses).toEqual([400])
    expect([...open.seen, ...shut.seen, ...lab.asked]).toEqual([])
  })

  test.each([
    ['capitals, a port and a trailing dot', 'GET /p HTTP/1.1', 'HOST: OPEN--demo.LocalHost.:8081'],
    ['its own origin in the target', `GET http://${OPEN}/p HTTP/1.1`, `host: ${OPEN}`],
    ['HTTP/1.0', 'GET /p HTTP/1.0', `host: ${OPEN}`],
    ['the same host twice', 'GET /p HTTP/1.1', `host: ${OPEN}`, `host: ${OPEN}`],
  ])('%s names the same box', async (_name, ...lines) => {
    expect(await statusesOf(...lines, 'connection: close')).toEqual([200])
    expect(open.seen).toMatchObject([{ target: '/p' }])
    expect(open.seen[0]?.rawHeaders.filter((name) => name.toLowerCase() === 'host')).toHaveLength(1)
  })

  test.each(['CONNECT open--demo.localhost:80', 'CONNECT 127.0.0.1:22', 'TRACE /'])('%s is refused', async (start) => {
    const host = start.startsWith('CONNECT') ? start.split(' ')[1] : OPEN
    const [status] = await statusesOf(`${start} HTTP/1.1`, `host: ${host}`, 'connection: close')
    expect([400, 405]).toContain(status)
    expect(open.seen).toEqual([])
  })

  test('the next request on a connection goes to the box that it names', async () => {
    const text = await lab.say(
      [
        `GET /1 HTTP/1.1\r\nhost: ${OPEN}\r\n\r\n`,
        `GET /2 HTTP/1.1\r\nhost: ${SHUT}\r\n\r\n`,
        `GET /3 HTTP/1.1\r\nhost: ${OPEN}\r\nconnection: close\r\n\r\n`,
      ].join(''),
    )
    expect([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(['200', '401', '200'])
    expect(open.seen.map(({ target }) => target)).toEqual(['/1', '/3'])
    expect(shut.seen).toEqual([])
  })
})

describe('one end of a request', () => {
  const smuggled = `GET /smuggled HTTP/1.1\r\nhost: ${SHUT}\r\n\r\n`

  test.each([
    ['two lengths', 'content-length: 0', `content-length: ${smuggled.length}`],
    ['a list of lengths', `content-length: 0, ${smuggled.length}`],
    ['a signed length', `content-length: +${smuggled.length}`],
    ['a negative length', 'content-length: -1'],
    ['an encoding that is none', 'transfer-encoding: xchunked'],
    ['an encoding and another', 'transfer-encoding: chunked', 'transfer-encoding: identity'],
    ['a list of encodings', 'transfer-encoding: identity, chunked'],
    ['an encoding that is not last', 'transfer-encoding: chunked, identity'],
    ['an encoding with a vertical tab', 'transfer-encoding: \x0bchunked'],
    ['a space before the colon', 'transfer-encoding : chunked'],
    ['a line that is no header', 'no header at all'],
  ])('%s is refused', async (_name, ...lines) => {
    const text = await lab.say(
      [`POST / HTTP/1.1`, `host: ${OPEN}`, ...lines, 'connection: close', '', `0\r\n\r\n${smuggled}`].join('\r\n'),
    )
    expect(text).toMatch(/^HTTP\/1\.[01] 4(00|22)/)
    expect([...open.seen, ...shut.seen].filter(({ target }) => target === '/smuggled')).toEqual([])
    expect(open.seen).toEqual([])
  })

  test('a folded line belongs to the header before it', async () => {
    await lab.ask(['GET / HTTP/1.1', `host: ${OPEN}`, 'x: y', ' transfer-encoding: chunked'])
    expect(open.seen).toMatchObject([{ headers: { x: expect.stringMatching(/^y +transfer-encoding: chunked$/) } }])
    expect(open.seen[0]?.headers).not.toHaveProperty('transfer-encoding')
  })

  test('a length beside an encoding hides no request', async () => {
    await lab.say(
      `POST / HTTP/1.1\r\nhost: ${OPEN}\r\ncontent-length: ${5 + smuggled.length}\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
      /401|400/,
    )
    expect(shut.seen).toEqual([])
    for (const { headers } of open.seen) expect(headers['content-length']).toBeUndefined()
  })

  test('an encoding in HTTP/1.0 is refused', async () => {
    expect(await statusesOf('POST / HTTP/1.0', `host: ${OPEN}`, 'transfer-encoding: chunked')).toEqual([400])
    expect(open.seen).toEqual([])
  })

  test('headers that a program may mistake for others do not pass', async () => {
    await lab.ask([
      'GET / HTTP/1.1',
      `host: ${OPEN}`,
      'content_length: 7',
      'transfer_encoding: chunked',
      'x_forwarded_for: 1.2.3.4',
      'x-forwarded_host: evil',
      'x-custom_name: stays',
    ])
    expect(Object.keys(open.seen[0]?.headers ?? {}).filter((name) => name.includes('_'))).toEqual(['x-custom_name'])
  })

  test('an upgrade to HTTP/2 is not passed on', async () => {
    const upgrade = ['connection: Upgrade, HTTP2-Settings', 'upgrade: h2c', 'http2-settings: AAMAAABkAARAAAAAAAIAAAAA']
    const text = await lab.say([`GET / HTTP/1.1`, `host: ${OPEN}`, ...upgrade, '', ''].join('\r\n'), /\r\n\r\n/)
    expect(text).toMatch(/^HTTP\/1\.1 200/)
    expect(open.seen[0]?.headers).not.toHaveProperty('upgrade')
    expect(open.seen[0]?.headers).not.toHaveProperty('http2-settings')
    expect(open.seen[0]?.headers['connection'] ?? '').not.toContain('pgrade')
  })

  test('HTTP/2 with prior knowledge and without encryption is not taken', async () => {
    expect(await lab.say('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0')).not.toContain('200')
    expect(open.seen).toEqual([])
  })
})
