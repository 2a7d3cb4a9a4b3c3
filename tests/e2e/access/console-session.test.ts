import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type ConsoleSession, createConsoleSessions, statusAndCode } from '../../helpers/access/console-sessions.ts'
import { openStream } from '../../helpers/exec/stream-client.ts'
import { createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'

let service: TestService
const client = createClient(
  () => service.url,
  () => service.adminToken,
)

beforeAll(async () => {
  service = await startService({ settings: { BOXYARD_POOL_GB: '0.5', BOXYARD_CORS_ORIGINS: APP } })
})

afterAll(async () => {
  await service.close()
})

const APP = 'https://app.example.com'
const SMALL = { name: 'minted', projects: ['pages'], permissions: ['read'] }

const { secrets, signIn, link, mint, ask } = createConsoleSessions(client, () => service.url)

describe('a session', () => {
  test('begins with a token, and stands for one of its own', async () => {
    const session = await signIn()
    const { permissions, projects, id, expires_at } = (await client.get('/v1/me')).body
    const standsFor = { id, name: 'admin', expires_at }
    expect(session.token).toMatchObject({ name: 'admin (console)', permissions, projects, on_behalf_of: standsFor })
    expect((await ask(session)).body).toEqual(session.token)
    const listed = (await client.get('/v1/tokens')).body.tokens
    const shown = { id: session.token.id, name: 'admin (console)', is_session: true, created_by: id }
    expect(listed).toContainEqual(expect.objectContaining(shown))
  })

  test('lasts 7 days, or as long as the token', async () => {
    const life = (session: ConsoleSession): number => (Date.parse(session.token.expires_at) - Date.now()) / 1000
    const week = 7 * 24 * 3600
    const long = await signIn()
    expect(life(long)).toBeGreaterThan(week - 60)
    expect(life(long)).toBeLessThanOrEqual(week)
    const { token } = await mint({ permissions: ['read'], expires_in_seconds: 600 })
    const short = await signIn({ token })
    expect(life(short)).toBeLessThanOrEqual(600)
    expect(short.answer.body.expires_at).toBe(short.token.expires_at)
    expect(Number(/Max-Age=(\d+)/.exec(String(short.answer.headers['set-cookie']))?.[1])).toBeLessThanOrEqual(600)
  })

  test('has a cookie that scripts do not see, and for HTTPS alone where the page came by that', async () => {
    const plain = String((await signIn()).answer.headers['set-cookie'])
    expect(plain).toMatch(/^boxyard_session_[0-9a-f]{8}=[\w-]{43}; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Strict$/)
    const secure = String((await signIn({ origin: service.url.replace('http', 'https') })).answer.headers['set-cookie'])
    expect(secure).toMatch(
      /^__Host-boxyard_session_[0-9a-f]{8}=[\w-]{43}; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Strict; Secure$/,
    )
  })

  test('that came by HTTPS is used and ended under the name of its cookie', async () => {
    const origin = service.url.replace('http', 'https')
    const session = await signIn({ origin })
    expect(session.headers.cookie).toMatch(/^__Host-/)
    expect((await ask(session, '/v1/me', { origin })).body).toEqual(session.token)
    const out = await client.delete('/v1/session', { token: null, headers: { ...session.headers, origin } })
    expect(String(out.headers['set-cookie'])).toMatch(
      /^__Host-boxyard_session_[0-9a-f]{8}=; Path=\/; Max-Age=0; .*Secure$/,
    )
  })

  test('is nothing with one half alone, or with halves of two', async () => {
    const [one, other] = [await signIn(), await signIn()]
    const { cookie, 'x-boxyard-session': header } = one.headers
    const half = (headers: Record<string, string>) => client.get('/v1/me', { token: null, headers })
    expect(statusAndCode(await half({ cookie }))).toEqual([401, 'token_missing'])
    expect(statusAndCode(await half({ 'x-boxyard-session': header }))).toEqual([401, 'token_invalid'])
    expect(statusAndCode(await half({ 'x-boxyard-session': header, cookie: other.headers.cookie }))).toEqual([
      401,
      'token_invalid',
    ])
  })

  test('is refused to pages of other origins, also of those that may call with a token', async () => {
    const session = await signIn()
    for (const origin of [APP, 'http://127.0.0.1:1', 'null'])
      expect(statusAndCode(await ask(session, '/v1/me', { origin }))).toEqual([403, 'permission_denied'])
    expect(statusAndCode(await ask(session, '/v1/me', { 'sec-fetch-site': 'same-site' }))).toEqual([
      403,
      'permission_denied',
    ])
    const own = { origin: service.url, 'sec-fetch-site': 'same-origin' }
    expect((await ask(session, '/v1/me', own)).status).toBe(200)
    const preflight = await client.call('OPTIONS', '/v1/me', {
      token: null,
      headers: { origin: APP, 'access-control-request-method': 'GET' },
    })
    expect(preflight.headers['access-control-allow-headers']).not.toContain('session')
    expect(preflight.headers).not.toHaveProperty('access-control-allow-credentials')
  })

  test('is not looked at beside an Authorization', async () => {
    const { token, id } = await mint({ permissions: ['read'] })
    const answer = await client.get('/v1/me', { token, headers: (await signIn()).headers })
    expect(answer.body.id).toBe(id)
    const bad = await client.get('/v1/me', { token: 'x', headers: (await signIn()).headers })
    expect(statusAndCode(bad)).toEqual([401, 'token_invalid'])
  })

  test('may do no more than the token', async () => {
    const { token } = await mint({ permissions: ['read'] })
    const session = await signIn({ token })
    const post = (path: string, body: unknown) => client.post(path, body, { token: null, headers: session.headers })
    expect((await ask(session, '/v1/projects/pages/boxes')).status).toBe(200)
    expect(statusAndCode(await ask(session, '/v1/projects/other/boxes'))).toEqual([403, 'permission_denied'])
    expect(statusAndCode(await post('/v1/projects/pages/boxes', { name: 'x' }))).toEqual([403, 'permission_denied'])
    const more = { name: 'more', projects: ['pages'], permissions: ['write'] }
    expect(statusAndCode(await post('/v1/tokens', more))).toEqual([403, 'permission_denied'])
  })

  test('ends with the token', async () => {
    const { token, id } = await mint({ permissions: ['read'] })
    const session = await signIn({ token })
    expect((await ask(session)).status).toBe(200)
    await client.delete(`/v1/tokens/${id}`)
    expect(statusAndCode(await ask(session))).toEqual([401, 'token_revoked'])
  })

  test('ends with the sign-out, and its token with it', async () => {
    const session = await signIn()
    const out = await client.delete('/v1/session', { token: null, headers: session.headers })
    expect([out.status, String(out.headers['set-cookie'])]).toEqual([
      204,
      expect.stringMatching(/=; Path=\/; Max-Age=0;/),
    ])
    expect(String(out.headers['set-cookie']).split('=', 1)).toEqual(session.headers.cookie.split('=', 1))
    expect(statusAndCode(await ask(session))).toEqual([401, 'token_revoked'])
    const listed: { id: string; revoked_at: string | null }[] = (await client.get('/v1/tokens')).body.tokens
    expect(listed.find(({ id }) => id === session.token.id)?.revoked_at).not.toBeNull()
  })

  test('ends when its browser signs in again, with a token or by a link, and what was minted in it lives on', async () => {
    const { token } = await mint({ permissions: ['read'] })
    for (const again of [{ token }, { token: null, path: `/v1/session?ticket=${await link(token)}` }]) {
      const left = await signIn({ token })
      const minted = await client.post('/v1/tokens', SMALL, { token: null, headers: left.headers })
      secrets.push(minted.body.token)
      const next = await signIn({ ...again, headers: left.headers })
      expect(statusAndCode(await ask(left))).toEqual([401, 'token_revoked'])
      expect((await ask(next)).body).toMatchObject({ id: next.token.id, permissions: ['read'] })
      expect((await client.get('/v1/me', { token: minted.body.token })).status).toBe(200)
    }
  })

  test('goes on if the sign-in fails, and if only one half of it is sent', async () => {
    const session = await signIn()
    const failed = await client.post('/v1/session', undefined, { token: 'x', headers: session.headers })
    expect(statusAndCode(failed)).toEqual([401, 'token_invalid'])
    await signIn({ headers: { cookie: session.headers.cookie } })
    await signIn({ headers: { ...session.headers, cookie: (await signIn()).headers.cookie } })
    expect((await ask(session)).status).toBe(200)
  })

  test.each(['page', 'console'])('is not what a sign-out with another token ends, also one named %s', async (name) => {
    const { token } = await mint({ name, permissions: ['read'] })
    expect(statusAndCode(await client.delete('/v1/session', { token }))).toEqual([403, 'permission_denied'])
    expect((await client.get('/v1/me', { token })).status).toBe(200)
  })

  test('outlives a restart of the service', async () => {
    const session = await signIn()
    await service.restart()
    expect((await ask(session)).body).toEqual(session.token)
  })

  test('is not shown again by a repeat of its request', async () => {
    const headers = { 'idempotency-key': 'sign-in' }
    const first = await client.post('/v1/session', undefined, { headers })
    secrets.push(first.body.session, String(first.headers['set-cookie']).split(/[=;]/)[1] ?? '')
    const second = await client.post('/v1/session', undefined, { headers })
    const { session: _secret, ...shown } = first.body
    expect([second.status, second.body, second.headers['set-cookie']]).toEqual([201, shown, undefined])
  })

  test('opens a WebSocket by a ticket at the address of the front', async () => {
    await client.post('/v1/projects/pages/boxes', { name: 'it', config: { ram_mb: 64 } })
    const session = await signIn()
    const body = { operation: 'streamExec', query: { command: ['sh', '-c', 'echo by-session'] } }
    const path = '/v1/projects/pages/boxes/it/tickets'
    const made = await client.post(path, body, { token: null, headers: { ...session.headers, origin: service.url } })
    const { pathname, search } = new URL(made.body.url)
    const stream = await openStream(`${service.url.replace('http', 'ws')}${pathname}${search}`)
    await stream.closed
    expect(stream.text(1)).toBe('by-session\n')
    await client.delete('/v1/projects/pages/boxes/it')
  })
})

describe('a sign-in link', () => {
  test('begins a session, once', async () => {
    const path = `/v1/session?ticket=${await link()}`
    const session = await signIn({ token: null, path })
    expect((await ask(session)).body).toEqual(session.token)
    expect(statusAndCode(await client.post(path, undefined, { token: null }))).toEqual([401, 'token_invalid'])
  })

  test('begins one that lasts as long as the token, and not as the link', async () => {
    const made = await client.post('/v1/session/links')
    secrets.push(made.body.ticket)
    const life = Date.parse(made.body.expires_at) - Date.now()
    expect(life).toBeGreaterThan(540_000)
    expect(life).toBeLessThanOrEqual(600_000)
    const session = await signIn({ token: null, path: `/v1/session?ticket=${made.body.ticket}` })
    expect(Date.parse(session.token.expires_at) - Date.now()).toBeGreaterThan(3_600_000)
  })

  test('begins one of the token that asked for it, and ends with that', async () => {
    const { token, id } = await mint({ permissions: ['read'] })
    const [first, second] = [await link(token), await link(token)]
    const session = await signIn({ token: null, path: `/v1/session?ticket=${first}` })
    expect(session.token).toMatchObject({ projects: ['pages'], permissions: ['read'] })
    await client.delete(`/v1/tokens/${id}`)
    const late = await client.post(`/v1/session?ticket=${second}`, undefined, { token: null })
    expect(statusAndCode(late)).toEqual([401, 'token_revoked'])
  })

  test('begins none for a page of another origin, and stays good for the own', async () => {
    const path = `/v1/session?ticket=${await link()}`
    for (const headers of [{ origin: APP }, { origin: 'null' }, { 'sec-fetch-site': 'cross-site' }])
      expect(statusAndCode(await client.post(path, undefined, { token: null, headers }))).toEqual([
        403,
        'permission_denied',
      ])
    const denied = await client.post('/v1/session', undefined, { headers: { origin: APP } })
    expect([...statusAndCode(denied), denied.headers['set-cookie']]).toEqual([403, 'permission_denied', undefined])
    await signIn({ token: null, path })
  })

  test('is shown with its token before it is used, and is not used up by that', async () => {
    const { token, id } = await mint({ name: 'guest', permissions: ['read'], expires_in_seconds: 3600 })
    const ticket = await link(token)
    const left = await signIn()
    const read = (headers: Record<string, string>) => client.get('/v1/session/links', { token: null, headers })
    for (const headers of [{}, left.headers, { origin: service.url, 'sec-fetch-site': 'same-origin' }]) {
      const { status, body, headers: answered } = await read({ ...headers, 'x-boxyard-link': ticket })
      expect([status, body.token]).toEqual([200, expect.objectContaining({ id, name: 'guest', projects: ['pages'] })])
      expect([body.expires_at, answered['set-cookie']]).toEqual([body.token.expires_at, undefined])
    }
    // Reading a link does not change the session.
    expect((await ask(left)).status).toBe(200)
    const session = await signIn({ token: null, headers: { 'x-boxyard-link': ticket } })
    expect(session.token).toMatchObject({ permissions: ['read'], on_behalf_of: { id } })
    expect(statusAndCode(await read({ 'x-boxyard-link': ticket }))).toEqual([401, 'token_invalid'])
  })

  test('is shown to no page of another origin, and refused in words where it is not whole', async () => {
    const ticket = await link()
    const read = (headers: Record<string, string>) => client.get('/v1/session/links', { token: null, headers })
    for (const headers of [{ origin: APP }, { origin: 'null' }, { 'sec-fetch-site': 'cross-site' }])
      expect(statusAndCode(await read({ ...headers, 'x-boxyard-link': ticket }))).toEqual([403, 'permission_denied'])
    for (const wrong of ['x', 'a b', 'x'.repeat(200)])
      expect(statusAndCode(await read({ 'x-boxyard-link': wrong }))).toEqual([401, 'token_invalid'])
    expect(statusAndCode(await read({}))).toEqual([401, 'token_missing'])
    await signIn({ token: null, headers: { 'x-boxyard-link': ticket } })
  })

  test('is good for nothing else', async () => {
    const ticket = await link()
    const wrong = await client.get(`/v1/me?ticket=${ticket}`, { token: null })
    expect(statusAndCode(wrong)).toEqual([401, 'token_missing'])
    const data = await fetch(`${service.dataUrl}/v1/session?ticket=${ticket}`, { method: 'POST' })
    expect(data.status).toBe(404)
    const guessed = await client.post('/v1/session?ticket=x', undefined, { token: null })
    expect(statusAndCode(guessed)).toEqual([401, 'token_invalid'])
  })
})

test('no half of a session, no link and no token is in a log or in the audit', async () => {
  const audit = (await client.get('/v1/audit?max_results=1000')).text
  const lines = service.logs.join('\n')
  expect(secrets.length).toBeGreaterThan(40)
  expect(lines).toContain('signIn')
  expect(secrets.filter((secret) => secret === '' || lines.includes(secret) || audit.includes(secret))).toEqual([])
})
