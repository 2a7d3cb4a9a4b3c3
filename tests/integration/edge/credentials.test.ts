import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { TOKEN_PREFIX } from '../../../shared/auth/tokens.ts'
import { createEdgeLab, type EdgeLab, grantOf, type Upstream } from '../../helpers/edge/lab.ts'

const TOKEN = `${TOKEN_PREFIX}InRlc3QifQ.payload.signature`
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
    grants: [grantOf(TOKEN, 'demo'), grantOf('the-session', SHUT)],
  })
  lab.decide(() => ({ kind: 'answer', status: 401, headers: {}, body: 'asked' }))
})
afterAll(() => lab.close())
beforeEach(() => {
  open.seen.length = 0
  shut.seen.length = 0
  lab.asked.length = 0
})

describe('headers hidden from a box', () => {
  test('the forwarded headers are those of the edge', async () => {
    await lab.ask([
      'GET / HTTP/1.1',
      `host: ${OPEN}:8081`,
      'x-forwarded-for: 1.2.3.4',
      'X-Forwarded-For: 5.6.7.8',
      'x-forwarded-host: evil.example',
      'x-forwarded-proto: https',
      'x-forwarded-port: 1',
      'x-forwarded-prefix: /x',
      'x-real-ip: 1.2.3.4',
      'forwarded: for=1.2.3.4',
    ])
    const { headers } = open.seen[0] ?? { headers: {} }
    const forwarded = Object.fromEntries(Object.entries(headers).filter(([name]) => /forwarded|real/.test(name)))
    expect(forwarded).toEqual({
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-host': `${OPEN}:8081`,
      'x-forwarded-proto': 'http',
    })
  })

  test.each([`Bearer ${TOKEN}`, `bearer   ${TOKEN}`, `Token ${TOKEN}`, `Bearer ${TOKEN_PREFIX}anything`])(
    'a Boxyard Authorization is not passed on: %s',
    async (value) => {
      await lab.ask(['GET / HTTP/1.1', `host: ${OPEN}`, `Authorization: ${value}`])
      expect(open.seen[0]?.headers).not.toHaveProperty('authorization')
    },
  )

  test.each(['Bearer eyJhbGciOiJIUzI1NiJ9.x.y', 'Basic dXNlcjpwYXNz'])('another is: %s', async (value) => {
    await lab.ask(['GET / HTTP/1.1', `host: ${OPEN}`, `authorization: ${value}`])
    expect(open.seen[0]?.headers.authorization).toBe(value)
  })

  test('several Authorizations are refused', async () => {
    const two = [`authorization: Basic x`, `authorization: Bearer ${TOKEN}`]
    expect((await lab.ask(['GET / HTTP/1.1', `host: ${SHUT}`, ...two])).status).toBe(400)
  })

  test.each([
    [['__Host-boxyard=tok; b=2; c=3'], ['b=2; c=3']],
    [['a=1; __Host-boxyard=tok; c=3'], ['a=1; c=3']],
    [['a=1; b="x y"; __Host-boxyard=tok'], ['a=1; b="x y"']],
    [['__Host-boxyard=tok'], []],
    [['__Host-boxyard=t1; a=1; __Host-boxyard=t2'], ['a=1']],
    [['a=1;__Host-boxyard=tok;b=2'], ['a=1;b=2']],
    [
      ['a=1', '__Host-boxyard=tok', 'b=2'],
      ['a=1', '', 'b=2'],
    ],
    [['a=1; __Host-boxyard = tok'], ['a=1']],
    [['__Host-boxyard-nonce=non'], []],
    [['a=1; __Host-boxyard-nonce=non; __Host-boxyard=tok; b=2'], ['a=1; b=2']],
    [['__Host-boxyard=tok; __Host-boxyard-nonce=non'], []],
    [['__Host-boxyard-nonce2=mine'], ['__Host-boxyard-nonce2=mine']],
    [['__Host-boxyard2=mine; x__Host-boxyard=mine'], ['__Host-boxyard2=mine; x__Host-boxyard=mine']],
    [['a=__Host-boxyard; b=2'], ['a=__Host-boxyard; b=2']],
  ])('only the session is cut out of the cookies: %j', async (sent, seen) => {
    await lab.ask(['GET / HTTP/1.1', `host: ${OPEN}`, ...sent.map((value) => `cookie: ${value}`)])
    const raw = open.seen[0]?.rawHeaders ?? []
    const cookies = raw.filter((_value, index) => index % 2 === 1 && raw[index - 1]?.toLowerCase() === 'cookie')
    expect(cookies).toEqual(seen)
  })

  test('more sessions in one header than are cut cause a refusal', async () => {
    const many = Array.from({ length: 20 }, (_, index) => `__Host-boxyard=t${index}`).join('; ')
    expect((await lab.ask(['GET / HTTP/1.1', `host: ${OPEN}`, `cookie: ${many}`])).status).toBe(400)
    expect(open.seen).toEqual([])
  })

  test.each(['Authorization', 'Cookie', 'X-Forwarded-For', 'X-Forwarded-Host, close', 'Host'])(
    'a header that Connection names is kept: %s',
    async (named) => {
      await lab.say(
        [
          `GET / HTTP/1.1`,
          `host: ${SHUT}`,
          `authorization: Bearer ${TOKEN}`,
          'cookie: a=1',
          `connection: ${named}`,
          '',
          '',
        ].join('\r\n'),
        /\r\n\r\n/,
      )
      expect(shut.seen[0]?.headers).toMatchObject({ cookie: 'a=1', 'x-forwarded-for': '127.0.0.1', host: SHUT })
      expect(shut.seen[0]?.headers.connection ?? '').not.toContain(named.split(',')[0])
    },
  )

  test('a box cannot set the cookies of the edge', async () => {
    const box = await lab.startUpstream((_incoming, outgoing) => {
      outgoing.setHeader('set-cookie', [
        'a=1',
        '__Host-boxyard=evil; Secure; Path=/',
        ' __Host-boxyard-x=evil',
        '=__Host-boxyard=evil',
        '__host-Boxyard=evil',
        'b=2',
      ])
      outgoing.end('x')
    })
    await lab.edge.change({ set: [lab.route('setting.localhost', box)] })
    const { headers } = await lab.ask(['GET / HTTP/1.1', 'host: setting.localhost'])
    const cookies = [...headers.matchAll(/set-cookie: ?(.*)/g)].map(([, value]) => value)
    expect(cookies.filter((value) => value?.includes('boxyard'))).toEqual([])
    expect(cookies).toEqual(expect.arrayContaining(['a=1', 'b=2']))
  })
})

describe('a session, which a browser sends by itself', () => {
  const session = 'cookie: __Host-boxyard=the-session'
  const own = `origin: http://${SHUT}:8081`
  const ask = async (method: string, ...headers: string[]): Promise<number> =>
    (await lab.ask([`${method} / HTTP/1.1`, `host: ${SHUT}:8081`, session, 'content-length: 0', ...headers])).status

  const opens = ['sec-fetch-mode: navigate', 'sec-fetch-dest: document']
  const ownUrl = `http://${SHUT}:8081`
  const otherUrl = `http://${OPEN}:8081`

  test.each([
    ['of its own page', true, ['sec-fetch-site: same-origin', 'sec-fetch-mode: cors', 'sec-fetch-dest: empty']],
    ['of a person', true, ['sec-fetch-site: none', ...opens]],
    ['that opens a page from a sibling', true, ['sec-fetch-site: same-site', ...opens]],
    ['that opens a page from elsewhere', true, ['sec-fetch-site: cross-site', ...opens]],
    ['that frames a page', false, ['sec-fetch-site: same-site', 'sec-fetch-mode: navigate', 'sec-fetch-dest: iframe']],
    [
      'for a script of a sibling',
      false,
      ['sec-fetch-site: same-site', 'sec-fetch-mode: no-cors', 'sec-fetch-dest: script'],
    ],
    ['of a fetch of a sibling', false, ['sec-fetch-site: same-site', 'sec-fetch-mode: cors', 'accept: text/html']],
    ['of a site of no known word', false, ['sec-fetch-site: own', 'sec-fetch-mode: cors']],
    ['with two sites', false, ['sec-fetch-site: same-site', 'sec-fetch-site: same-origin']],
    ['with two modes', false, ['sec-fetch-site: same-site', 'sec-fetch-mode: no-cors', ...opens]],
    ['with two Origins', false, [`origin: ${ownUrl}`, `origin: ${otherUrl}`]],
    ['of an old browser without more', false, []],
    ['of an old browser that accepts a page', true, ['accept: text/html,*/*;q=0.8']],
    ['of an old browser whose own page asks', true, [`referer: ${ownUrl}/a/b?c`]],
    ['of an old browser with its own Origin', true, [`origin: ${ownUrl}`]],
    ['of an old browser with a Referer of a sibling', false, [`referer: ${otherUrl}/`]],
    ['of an old browser with a Referer that begins alike', false, [`referer: ${ownUrl}.evil.example/`]],
    ['of an old browser with a Referer of another port', false, [`referer: http://${SHUT}/`]],
    [
      'of an old browser with another Origin',
      false,
      [`origin: ${otherUrl}`, 'accept: text/html', `referer: ${ownUrl}/`],
    ],
    ['of an old browser with no Origin to tell', false, ['origin: null', 'accept: text/html']],
  ])('takes a read %s: %s', async (_whose, passes, headers) => {
    // Pages get 203, which no browser keeps.
    const status = headers.includes('sec-fetch-mode: navigate') ? 203 : 200
    for (const method of ['GET', 'HEAD', 'OPTIONS']) expect(await ask(method, ...headers)).toBe(passes ? status : 403)
    expect(shut.seen).toHaveLength(passes ? 3 : 0)
  })

  test('lets only pages of its own host use other methods', async () => {
    expect(await ask('POST', own)).toBe(200)
    for (const headers of [
      [],
      ['origin: null'],
      ['origin: http://evil.example'],
      [`origin: http://${SHUT}`],
      [`origin: https://${SHUT}:8081`],
      [`origin: http://${OPEN}:8081`],
      [`origin: http://${SHUT}:8081.evil.example`],
      ['sec-fetch-site: cross-site', ...opens, own],
      ['sec-fetch-site: same-site', ...opens],
      ['sec-fetch-site: same-origin'],
      [`referer: ${ownUrl}/`, 'accept: text/html'],
    ]) {
      expect(await ask('POST', ...headers)).toBe(403)
      expect(await ask('DELETE', ...headers)).toBe(403)
    }
    expect(shut.seen).toHaveLength(1)
  })

  test('opens no other host', async () => {
    expect((await lab.ask(['GET / HTTP/1.1', 'host: other.localhost', session])).status).toBe(401)
    await lab.edge.change({ set: [lab.route('twin--demo.localhost', shut, { auth: 'token' })] })
    expect((await lab.ask(['GET / HTTP/1.1', 'host: twin--demo.localhost', session])).status).toBe(401)
  })

  test('opens WebSockets for pages of its own host only', async () => {
    const upgrade = [
      'connection: Upgrade',
      'upgrade: websocket',
      'sec-websocket-version: 13',
      'sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==',
    ]
    const open = (...headers: string[]): Promise<string> =>
      lab.say(
        ['GET / HTTP/1.1', `host: ${SHUT}:8081`, session, ...upgrade, ...headers, '', ''].join('\r\n'),
        /\r\n\r\n/,
      )
    expect(await open(own)).toMatch(/^HTTP\/1\.1 101/)
    expect(await open('origin: http://evil.example')).toMatch(/^HTTP\/1\.1 403/)
    expect(await open()).toMatch(/^HTTP\/1\.1 403/)
  })

  test('a bearer token needs no origin', async () => {
    const bearer = `authorization: Bearer ${TOKEN}`
    const sibling = ['sec-fetch-site: same-site', 'sec-fetch-mode: cors', `origin: ${otherUrl}`]
    for (const headers of [[], sibling, [...sibling, session]]) {
      const head = ['POST / HTTP/1.1', `host: ${SHUT}`, bearer, 'content-length: 0', ...headers]
      expect((await lab.ask(head)).status).toBe(200)
    }
  })

  test('is not needed at a public host, which takes requests from anywhere', async () => {
    for (const site of ['same-site', 'cross-site']) {
      const headers = [`sec-fetch-site: ${site}`, 'sec-fetch-mode: no-cors', 'sec-fetch-dest: script', session]
      for (const method of ['GET', 'POST'])
        expect((await lab.ask([`${method} / HTTP/1.1`, `host: ${OPEN}`, 'content-length: 0', ...headers])).status).toBe(
          200,
        )
    }
  })

  test('requests that the gate admits by a session follow the same rules', async () => {
    lab.decide((request) => ({ kind: 'forward', route: lab.route(request.host, shut, { auth: 'token' }) }))
    const post = async (...headers: string[]): Promise<number> =>
      (await lab.ask(['POST / HTTP/1.1', 'host: woken.localhost', 'content-length: 0', ...headers])).status
    expect(await post('cookie: __Host-boxyard=x', 'origin: http://evil.example')).toBe(403)
    expect(await post('cookie: __Host-boxyard=x', 'origin: http://woken.localhost')).toBe(200)
    expect(await post(`authorization: Bearer ${TOKEN}x`)).toBe(200)
    const script = ['sec-fetch-site: same-site', 'sec-fetch-mode: no-cors', 'sec-fetch-dest: script']
    const get = ['GET / HTTP/1.1', 'host: woken.localhost', 'cookie: __Host-boxyard=x']
    expect((await lab.ask([...get, ...script])).status).toBe(403)
    expect((await lab.ask([...get, 'sec-fetch-site: same-origin'])).status).toBe(200)
    lab.decide(() => ({ kind: 'answer', status: 401, headers: {}, body: 'asked' }))
  })
})
