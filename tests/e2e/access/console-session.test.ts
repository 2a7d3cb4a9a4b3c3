import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { judgeSession } from '../../../shared/auth/session.ts'
import { openStream } from '../../helpers/exec/stream-client.ts'
import { type Answer, createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'

let service: TestService
const secrets: string[] = []
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

/** What a page and its browser keep of a sign-in. */
interface Session {
  headers: { 'x-boxyard-session': string; cookie: string }
  token: { id: string; name: string; projects: unknown; permissions: string[]; expires_at: string }
  answer: Answer
}

interface SignInOptions {
  token?: string | null
  path?: string
  origin?: string
  headers?: Record<string, string>
}

async function signIn(options: SignInOptions = {}): Promise<Session> {
  const { token, path = '/v1/session', origin = service.url, headers = {} } = options
  const as = token === undefined ? {} : { token }
  const answer = await client.post(path, undefined, { ...as, headers: { origin, ...headers } })
  expect([answer.status, answer.body]).toEqual([201, expect.objectContaining({ session: expect.any(String) })])
  const cookie = String(answer.headers['set-cookie']).split(';', 1)[0] ?? ''
  const { session, token: shown } = answer.body
  const joined = judgeSession({ target: '/', headers: { 'x-boxyard-session': session, cookie } }, { signsIn: false })
  const { authorization = '' } = 'code' in joined ? {} : joined.authorization
  secrets.push(session, cookie.split('=')[1] ?? '', authorization.replace('Bearer ', ''))
  return { headers: { 'x-boxyard-session': session, cookie }, token: shown, answer }
}

const link = async (token?: string): Promise<string> => {
  const made = await client.post('/v1/session/links', undefined, token === undefined ? {} : { token })
  expect([made.status, made.body]).toEqual([201, expect.objectContaining({ ticket: expect.any(String) })])
  secrets.push(made.body.ticket)
  return made.body.ticket
}

const mint = async (body: Record<string, unknown>): Promise<{ id: string; token: string }> => {
  const minted = (await client.post('/v1/tokens', { name: 'page', projects: ['pages'], ...body })).body
  secrets.push(minted.token)
  return minted
}

const ask = (session: Session, path = '/v1/me', headers: Record<string, string> = {}) =>
  client.get(path, { token: null, headers: { ...session.headers, ...headers } })
const outcome = ({ status, body }: Answer) => [status, body?.code ?? null]

describe('a session', () => {
  test('begins with a token, and stands for one of its own', async () => {
    const session = await signIn()
    const { permissions, projects, id, expires_at } = (await client.get('/v1/me')).body
    const standsFor = { id, name: 'admin', expires_at }
    expect(session.token).toMatchObject({ name: 'admin (console)', permissions, projects, stands_for: standsFor })
    expect((await ask(session)).body).toEqual(session.token)
    const listed = (await client.get('/v1/tokens')).body.tokens
    const shown = { id: session.token.id, name: 'admin (console)', is_session: true, created_by: id }
    expect(listed).toContainEqual(expect.objectContaining(shown))
  })

  test('lasts 7 days, or as long as the token', async () => {
    const life = (session: Session): number => (Date.parse(session.token.expires_at) - Date.now()) / 1000
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
    expect(outcome(await half({ cookie }))).toEqual([401, 'token_missing'])
    expect(outcome(await half({ 'x-boxyard-session': header }))).toEqual([401, 'token_invalid'])
    expect(outcome(await half({ 'x-boxyard-session': header, cookie: other.headers.cookie }))).toEqual([
      401,
      'token_invalid',
    ])
  })

  test('is refused to pages of other origins, also of those that may call with a token', async () => {
    const session = await signIn()
    for (const origin of [APP, 'http://127.0.0.1:1', 'null'])
      expect(outcome(await ask(session, '/v1/me', { origin }))).toEqual([403, 'permission_denied'])
    expect(outcome(await ask(session, '/v1/me', { 'sec-fetch-site': 'same-site' }))).toEqual([403, 'permission_denied'])
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
    expect(outcome(bad)).toEqual([401, 'token_invalid'])
  })

  test('may do no more than the token', async () => {
    const { token } = await mint({ permissions: ['read'] })
    const session = await signIn({ token })
    const post = (path: string, body: unknown) => client.post(path, body, { token: null, headers: session.headers })
    expect((await ask(session, '/v1/projects/pages/boxes')).status).toBe(200)
    expect(outcome(await ask(session, '/v1/projects/other/boxes'))).toEqual([403, 'permission_denied'])
    expect(outcome(await post('/v1/projects/pages/boxes', { name: 'x' }))).toEqual([403, 'permission_denied'])
    const more = { name: 'more', projects: ['pages'], permissions: ['write'] }
    expect(outcome(await post('/v1/tokens', more))).toEqual([403, 'permission_denied'])
  })

  test('ends with the token', async () => {
    const { token, id } = await mint({ permissions: ['read'] })
    const session = await signIn({ token })
    expect((await ask(session)).status).toBe(200)
    await client.delete(`/v1/tokens/${id}`)
    expect(outcome(await ask(session))).toEqual([401, 'token_revoked'])
  })

  test('ends with the sign-out, and its token with it', async () => {
    const session = await signIn()
    const out = await client.delete('/v1/session', { token: null, headers: session.headers })
    expect([out.status, String(out.headers['set-cookie'])]).toEqual([
      204,
      expect.stringMatching(/=; Path=\/; Max-Age=0;/),
    ])
    expect(String(out.headers['set-cookie']).split('=', 1)).toEqual(session.headers.cookie.split('=', 1))
    expect(outcome(await ask(session))).toEqual([401, 'token_revoked'])
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
      expect(outcome(await ask(left))).toEqual([401, 'token_revoked'])
      expect((await ask(next)).body).toMatchObject({ id: next.token.id, permissions: ['read'] })
      expect((await client.get('/v1/me', { token: minted.body.token })).status).toBe(200)
    }
  })

  test('goes on if the sign-in fails, and if only one half of it is sent', async () => {
    const session = await signIn()
    const failed = await client.post('/v1/session', undefined, { token: 'x', headers: session.headers })
    expect(outcome(failed)).toEqual([401, 'token_invalid'])
    await signIn({ headers: { cookie: session.headers.cookie } })
    await signIn({ headers: { ...session.headers, cookie: (await signIn()).headers.cookie } })
    expect((await ask(session)).status).toBe(200)
  })

  test.each(['page', 'console'])('is not what a sign-out with another token ends, also one named %s', async (name) => {
    const { token } = await mint({ name, permissions: ['read'] })
    expect(outcome(await client.delete('/v1/session', { token }))).toEqual([403, 'permission_denied'])
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

describe('what is minted in a session', () => {
  const mintIn = async (session: Session, body: Record<string, unknown> = {}) => {
    const minted = await client.post('/v1/tokens', { ...SMALL, ...body }, { token: null, headers: session.headers })
    secrets.push(minted.body.token)
    return minted
  }
  const isTaken = async (token: string) => outcome(await client.get('/v1/me', { token }))
  const taken = [200, null]
  const revoked = [401, 'token_revoked']

  test('is minted with the token that it stands for, and outlives it', async () => {
    const { token, id } = await mint({ permissions: ['read'] })
    const session = await signIn({ token })
    const minted = await mintIn(session)
    const { expires_at } = (await client.get('/v1/me', { token })).body
    expect(minted.body).toMatchObject({ created_by: id, session: session.token.id, is_session: false, expires_at })
    expect(Date.parse(expires_at)).toBeGreaterThan(Date.parse(session.token.expires_at))
    await client.delete('/v1/session', { token: null, headers: session.headers })
    expect(await isTaken(minted.body.token)).toEqual(taken)
    expect(outcome(await mintIn(await signIn({ token }), { expires_in_seconds: 31 * 86_400 }))).toEqual([
      403,
      'permission_denied',
    ])
    await client.delete(`/v1/tokens/${id}`)
    expect(await isTaken(minted.body.token)).toEqual(revoked)
  })

  test('is listed and revoked by the token, and by each of its sessions', async () => {
    const { token } = await mint({ permissions: ['read'] })
    const [one, other] = [await signIn({ token }), await signIn({ token })]
    const { id, token: minted } = (await mintIn(one)).body
    const all = [one.token.id, other.token.id, id].sort()
    const idsOf = ({ body }: Answer) => body.tokens.map((each: { id: string }) => each.id).sort()
    expect(idsOf(await client.get('/v1/tokens', { token }))).toEqual(all)
    expect(idsOf(await ask(other, '/v1/tokens'))).toEqual(all)
    const gone = await client.delete(`/v1/tokens/${id}`, { token: null, headers: other.headers })
    expect([gone.status, await isTaken(minted)]).toEqual([204, revoked])
  })

  test('ends when the session is revoked, also after a sign-out, with sessions and tokens that came of it', async () => {
    const { token } = await mint({ permissions: ['read'] })
    const stolen = await signIn({ token })
    const first = (await mintIn(stolen)).body
    const again = await signIn({ token: first.token })
    const link = await client.post('/v1/session/links', undefined, { token: null, headers: stolen.headers })
    secrets.push(link.body.ticket)
    const next = await signIn({ token: null, path: `/v1/session?ticket=${link.body.ticket}` })
    expect(next.token).toMatchObject({ name: 'page (console)' })
    const second = (await mintIn(next)).body
    const own = (await mintIn(await signIn({ token }))).body
    await client.delete('/v1/session', { token: null, headers: stolen.headers })
    expect(await isTaken(first.token)).toEqual(taken)
    expect((await ask(next)).status).toBe(200)
    await client.delete(`/v1/tokens/${stolen.token.id}`)
    expect([await isTaken(first.token), await isTaken(second.token)]).toEqual([revoked, revoked])
    expect([outcome(await ask(again)), outcome(await ask(next))]).toEqual([revoked, revoked])
    expect([await isTaken(own.token), await isTaken(token)]).toEqual([taken, taken])
  })

  test('counts among the tokens of the account', async () => {
    const { token } = await mint({ permissions: ['read'] })
    const session = await signIn({ token })
    expect((await client.get('/v1/config')).body.limits.tokens_per_root).toBe(1_000)
    const minted = await Promise.all(Array.from({ length: 3 }, () => mintIn(session)))
    const rootOf = (text: string) => JSON.parse(Buffer.from(text.split('.')[1] ?? '', 'base64url').toString()).root
    expect(new Set(minted.map(({ body }) => rootOf(body.token)))).toEqual(new Set([rootOf(minted[0]?.body.token)]))
    expect(rootOf(minted[0]?.body.token)).toBe((await client.get('/v1/me', { token })).body.id)
  })
})

describe('a sign-in link', () => {
  test('begins a session, once', async () => {
    const path = `/v1/session?ticket=${await link()}`
    const session = await signIn({ token: null, path })
    expect((await ask(session)).body).toEqual(session.token)
    expect(outcome(await client.post(path, undefined, { token: null }))).toEqual([401, 'token_invalid'])
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
    expect(outcome(late)).toEqual([401, 'token_revoked'])
  })

  test('begins none for a page of another origin, and stays good for the own', async () => {
    const path = `/v1/session?ticket=${await link()}`
    for (const headers of [{ origin: APP }, { origin: 'null' }, { 'sec-fetch-site': 'cross-site' }])
      expect(outcome(await client.post(path, undefined, { token: null, headers }))).toEqual([403, 'permission_denied'])
    const denied = await client.post('/v1/session', undefined, { headers: { origin: APP } })
    expect([...outcome(denied), denied.headers['set-cookie']]).toEqual([403, 'permission_denied', undefined])
    await signIn({ token: null, path })
  })

  test('is good for nothing else', async () => {
    const ticket = await link()
    const wrong = await client.get(`/v1/me?ticket=${ticket}`, { token: null })
    expect(outcome(wrong)).toEqual([401, 'token_missing'])
    const data = await fetch(`${service.dataUrl}/v1/session?ticket=${ticket}`, { method: 'POST' })
    expect(data.status).toBe(404)
    const guessed = await client.post('/v1/session?ticket=x', undefined, { token: null })
    expect(outcome(guessed)).toEqual([401, 'token_invalid'])
  })
})

test('no half of a session, no link and no token is in a log or in the audit', async () => {
  const audit = (await client.get('/v1/audit?max_results=1000')).text
  const lines = service.logs.join('\n')
  expect(secrets.length).toBeGreaterThan(40)
  expect(lines).toContain('signIn')
  expect(secrets.filter((secret) => secret === '' || lines.includes(secret) || audit.includes(secret))).toEqual([])
})
