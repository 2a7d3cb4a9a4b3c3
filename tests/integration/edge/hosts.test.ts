import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { TOKEN_PREFIX } from '../../../shared/auth/tokens.ts'
import { createEdgeLab, type EdgeLab, grantOf, type Upstream } from '../../helpers/edge/lab.ts'

const TOKEN = `${TOKEN_PREFIX}InRlc3QifQ.payload.signature`

describe('an edge with two boxes', () => {
  let lab: EdgeLab
  let shop: Upstream
  let blog: Upstream

  beforeAll(async () => {
    lab = createEdgeLab()
    shop = await lab.startUpstream()
    blog = await lab.startUpstream()
    await lab.open({
      routes: [
        lab.route('shop--demo.localhost', shop, { boxId: 'box_shop' }),
        lab.route('blog--demo.localhost', blog, { boxId: 'box_blog', auth: 'token' }),
      ],
      grants: [grantOf(TOKEN, 'demo'), grantOf('a-session', 'blog--demo.localhost')],
    })
  })
  afterAll(() => lab.close())
  beforeEach(() => {
    shop.seen.length = 0
    blog.seen.length = 0
    lab.asked.length = 0
  })

  test('a public host is served without asking the gate', async () => {
    const { status, body } = await lab.ask(['GET /a/b?c=%2e%2e HTTP/1.1', 'host: Shop--Demo.localhost:8081'])
    expect(status).toBe(200)
    expect(JSON.parse(body)).toMatchObject({ at: shop.port, target: '/a/b?c=%2e%2e' })
    expect(lab.asked).toEqual([])
  })

  test('a token opens a host of its project, and the box does not see it', async () => {
    const { status } = await lab.ask(['GET / HTTP/1.1', 'host: blog--demo.localhost', `authorization: Bearer ${TOKEN}`])
    expect(status).toBe(200)
    expect(blog.seen[0]?.headers.authorization).toBeUndefined()
    expect(lab.asked).toEqual([])
  })

  test('unknown hosts and tokens go to the gate, with the facts for its decision', async () => {
    lab.decide((request) => ({
      kind: 'answer',
      status: 401,
      headers: { 'content-type': 'text/plain', 'set-cookie': ['a=1', 'b=2'] },
      body: `no, ${request.host}`,
    }))
    const { status, headers, body } = await lab.ask([
      'POST /x?y HTTP/1.1',
      'host: blog--demo.localhost',
      'cookie: __Host-boxyard=other',
      'user-agent: someone',
      'content-length: 0',
    ])
    expect([status, body]).toEqual([401, 'no, blog--demo.localhost'])
    expect(headers).toMatch(/set-cookie: a=1\r\nset-cookie: b=2/)
    expect(lab.asked).toEqual([
      {
        method: 'POST',
        host: 'blog--demo.localhost',
        target: '/x?y',
        headers: { cookie: '__Host-boxyard=other' },
        clientAddress: '127.0.0.1',
        isSecure: false,
        isLed: false,
        isOwn: false,
      },
    ])
    expect(blog.seen).toEqual([])
  })

  test('the gate can redirect a request', async () => {
    lab.decide((request) => ({ kind: 'forward', route: lab.route(request.host, shop) }))
    const { body } = await lab.ask(['GET / HTTP/1.1', 'host: waking--demo.localhost'])
    expect(JSON.parse(body)).toMatchObject({ at: shop.port })
  })

  test('the sign-in host and paths below /.boxyard/ are served by the agent only', async () => {
    for (const [host, path] of [
      ['sign-in.localhost', '/anything'],
      ['shop--demo.localhost', '/.boxyard/session'],
    ]) {
      const { status, headers, body } = await lab.ask([
        `GET ${path} HTTP/1.1`,
        `host: ${host}:8081`,
        'x-forwarded-for: 1.2.3.4',
        `authorization: Bearer ${TOKEN}`,
        'cookie: __Host-boxyard=mine',
      ])
      expect(status).toBe(200)
      expect(headers).toMatch(/set-cookie: __host-boxyard=s; secure/)
      expect(JSON.parse(body)).toMatchObject({
        page: path,
        client: '127.0.0.1',
        headers: {
          authorization: `Bearer ${TOKEN}`,
          cookie: '__Host-boxyard=mine',
          'x-forwarded-host': `${host}:8081`,
          'x-forwarded-proto': 'http',
        },
      })
    }
    expect(shop.seen).toEqual([])
  })

  test('a change is served once it resolves', async () => {
    await lab.edge.change({ set: [lab.route('new.example.org', blog)] })
    expect(JSON.parse((await lab.ask(['GET / HTTP/1.1', 'host: new.example.org'])).body).at).toBe(blog.port)
    await lab.edge.change({ set: [lab.route('new.example.org', shop)] })
    expect(JSON.parse((await lab.ask(['GET / HTTP/1.1', 'host: new.example.org'])).body).at).toBe(shop.port)
    await lab.edge.change({ remove: ['new.example.org'] })
    lab.decide(() => ({ kind: 'answer', status: 404, headers: {}, body: '' }))
    expect((await lab.ask(['GET / HTTP/1.1', 'host: new.example.org'])).status).toBe(404)
  })

  test('a revoked or expired token is refused', async () => {
    lab.decide(() => ({ kind: 'answer', status: 401, headers: {}, body: '' }))
    const ask = async (token: string): Promise<number> =>
      (await lab.ask(['GET / HTTP/1.1', 'host: blog--demo.localhost', `authorization: Bearer ${token}`])).status
    const second = `${TOKEN}2`
    await lab.edge.grant([grantOf(second, 'demo'), grantOf(`${TOKEN}3`, 'demo', -1_000), grantOf(`${TOKEN}4`, 'other')])
    expect(await Promise.all([ask(second), ask(`${TOKEN}3`), ask(`${TOKEN}4`)])).toEqual([200, 401, 401])
    await lab.edge.revoke([grantOf(second, 'demo').credential])
    expect(await ask(second)).toBe(401)
    expect(await ask(TOKEN)).toBe(200)
  })

  test('an invalid route is refused before it is written anywhere', async () => {
    for (const wrong of [
      { host: 'a b' },
      { host: 'a;shutdown frontend edge' },
      { host: 'a.localhost\nshow info' },
      { project: 'demo;x' },
      { boxId: 'box|1' },
      { address: 'localhost' },
      { address: '::1' },
      { port: 0 },
    ]) {
      await expect(lab.edge.change({ set: [{ ...lab.route('good.localhost', shop), ...wrong }] })).rejects.toThrow(
        'not a',
      )
    }
    await expect(lab.edge.change({ remove: ['a;b'] })).rejects.toThrow('not a host name')
  })

  test('use is counted by box', async () => {
    const before = (await lab.edge.use()).get('box_shop')?.requests ?? 0
    await lab.ask(['GET / HTTP/1.1', 'host: shop--demo.localhost'])
    await lab.ask(['GET / HTTP/1.1', 'host: shop--demo.localhost'])
    const use = await lab.edge.use()
    expect(use.get('box_shop')).toEqual({ requests: before + 2, open: 0 })
  })

  test('where nothing listens an API client gets the port, and a browser a page', async () => {
    await lab.edge.change({ set: [lab.route('down.localhost', { address: '127.0.0.77', port: 9 })] })
    const forClient = await lab.ask(['GET / HTTP/1.1', 'host: down.localhost', 'accept: */*'])
    expect(forClient.status).toBe(502)
    expect(forClient.headers).toContain('content-type: application/problem+json')
    expect(JSON.parse(forClient.body)).toEqual({
      type: '/.boxyard/problems/port_unreachable',
      title: 'Port unreachable',
      status: 502,
      detail: 'Nothing answers on port 9 of this box.',
      code: 'port_unreachable',
      request_id: expect.stringMatching(/^req_[0-9a-f]{26}$/),
      retryable: true,
    })
    const forBrowser = await lab.ask(['GET / HTTP/1.1', 'host: down.localhost', 'accept: text/html,*/*;q=0.8'])
    expect(forBrowser.status).toBe(502)
    expect(forBrowser.headers).toContain('content-type: text/html')
    const style = /<style>(.+)<\/style>/.exec(forBrowser.body)?.[1] ?? ''
    const digest = createHash('sha256').update(style).digest('base64').toLowerCase()
    expect(style).toContain('width:100%')
    expect(forBrowser.headers).toContain(`content-security-policy: default-src 'none'; style-src 'sha256-${digest}'`)
    expect(forBrowser.body).toContain('Nothing answers on port 9 of this box.')
    expect(forBrowser.body).not.toMatch(/src=|href=/)
  })
})
