import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { enterSession, secureCookies } from '../../../functions/session.ts'
import { judgeSession, sessionCookieName, splitToken } from '../../../shared/auth/session.ts'
import { makeDeployment } from '../../helpers/front/test-front.ts'

const SERVICE = 'agent-1'
/** Returns the token of a request's session, or the reason for its refusal. */
const readSession = (headers: Record<string, string | undefined>) => {
  const judged = judgeSession({ target: '/v1/me', headers }, { signsIn: false })
  return 'code' in judged ? judged : { token: judged.authorization.authorization?.replace('Bearer ', '') }
}
let token = ''
let halves: Record<string, string>

beforeAll(async () => {
  const projects = Array.from({ length: 256 }, (_, i) => `project-${i}-${'x'.repeat(40)}`)
  token = await makeDeployment().mint({ projects })
  const { session, cookie } = splitToken(token, SERVICE)
  halves = { 'x-boxyard-session': session, cookie: `${cookie.name}=${cookie.value}` }
})

/** Changes one character to another that decodes to different bytes. */
const altered = (text: string, at: number): string =>
  text.slice(0, at) + (text[at] === 'A' ? 'Q' : 'A') + text.slice(at + 1)

describe('the halves of a session', () => {
  test('make the token, with other cookies around them', () => {
    expect(readSession(halves)).toEqual({ token })
    expect(readSession({ ...halves, cookie: `a=1; ${halves['cookie']};b=2` })).toEqual({ token })
  })

  test('are as long as the token, and do not show it', () => {
    const session = String(halves['x-boxyard-session'])
    expect(session.length).toBeLessThan(token.length + 64)
    const claims = token.split('.')[1] ?? ''
    expect(session).not.toContain(claims.slice(0, 32))
    expect(Buffer.from(session.split('.')[1] ?? '', 'base64url').toString('latin1')).not.toContain('project-1')
  })

  test.each([
    ['no cookie', () => ({ ...halves, cookie: undefined })],
    ['another cookie', () => ({ ...halves, cookie: 'boxyard_session=1' })],
    ['the key of another session', () => ({ ...halves, cookie: cookieOf(splitToken(token, SERVICE)) })],
    ['the key of another service', () => ({ ...halves, cookie: cookieOf(splitToken(token, 'agent-2')) })],
    ['an altered key', () => ({ ...halves, cookie: altered(String(halves['cookie']), 30) })],
    ['a short key', () => ({ ...halves, cookie: halves['cookie']?.slice(0, -1) })],
    ['an altered name', () => withSession((text) => altered(text, 0))],
    ['an altered first byte', () => withSession((text) => altered(text, 9))],
    ['an altered byte', () => withSession((text) => altered(text, 200))],
    ['an altered tag', () => withSession((text) => altered(text, text.length - 10))],
    ['a cut off end', () => withSession((text) => text.slice(0, -4))],
    ['hardly anything', () => withSession((text) => text.slice(0, 12))],
    ['nothing sealed', () => withSession((text) => text.slice(0, 9))],
    ['no text', () => withSession(() => '')],
    ['more than a header holds', () => withSession((text) => text + 'A'.repeat(40_000))],
  ])('make nothing with %s', (_, headers) => {
    expect(readSession(headers())).toEqual({ code: 'token_invalid', detail: expect.stringMatching(/sign in again/i) })
  })

  test('are found beside cookies of the same name that another port has set', () => {
    const name = sessionCookieName(SERVICE)
    const planted = `${name}=${'A'.repeat(43)}; ${name}=x; ${halves['cookie']}`
    expect(readSession({ ...halves, cookie: planted })).toEqual({ token })
  })

  test('are found behind as many as a browser keeps, and that of HTTPS among those of plain HTTP', () => {
    const name = sessionCookieName(SERVICE)
    const planted = Array.from({ length: 200 }, () => `${name}=${randomBytes(32).toString('base64url')}`).join('; ')
    expect(readSession({ ...halves, cookie: `${planted}; ${halves['cookie']}` })).toEqual({ token })
    expect(readSession({ ...halves, cookie: `${planted}; __Host-${halves['cookie']}` })).toEqual({ token })
  })

  test('take no time to speak of with all the wrong keys that fit into a request', () => {
    const name = sessionCookieName(SERVICE)
    const planted = Array.from({ length: 256 }, () => `${name}=${randomBytes(32).toString('base64url')}`).join('; ')
    const times = Array.from({ length: 20 }, () => {
      const startedAt = performance.now()
      expect(readSession({ ...halves, cookie: planted })).toMatchObject({ code: 'token_invalid' })
      return performance.now() - startedAt
    })
    expect(Math.min(...times)).toBeLessThan(20)
  })

  test('of two services have cookies of different names', () => {
    expect(sessionCookieName('agent-2')).not.toBe(sessionCookieName(SERVICE))
    expect(splitToken(token, SERVICE).cookie.name).toBe(sessionCookieName(SERVICE))
  })
})

describe('a request of a session', () => {
  const host = 'boxes.example:8080'
  const enter = async (headers: Record<string, string>) =>
    (await enterSession({ method: 'GET', target: '/v1/me', headers: { host, ...headers } })).request

  test.each([
    ['neither Origin nor Sec-Fetch-Site', {}],
    ['its own origin', { origin: `http://${host}` }],
    ['its own origin behind what takes TLS off', { origin: `https://${host}` }],
    ['the same origin, as its browser says', { 'sec-fetch-site': 'same-origin', origin: `http://${host}` }],
    ['no page', { 'sec-fetch-site': 'none' }],
  ])('is let in with %s', async (_, headers) => {
    expect((await enter({ ...halves, ...headers })).headers).toEqual({
      host,
      ...headers,
      authorization: `Bearer ${token}`,
    })
  })

  test.each([
    ['another host', { origin: 'http://evil.example' }],
    ['another port', { origin: 'http://boxes.example:8000' }],
    ['the host within another', { origin: `http://${host}.evil.example` }],
    ['no origin to speak of', { origin: 'null' }],
    ['an origin without a scheme of pages', { origin: `chrome-extension://${host}` }],
    ['another port, as its browser says', { 'sec-fetch-site': 'same-site' }],
    ['another site, as its browser says', { 'sec-fetch-site': 'cross-site', origin: `http://${host}` }],
  ])('is refused with %s', async (_, headers) => {
    await expect(enter({ ...halves, ...headers })).rejects.toMatchObject({ code: 'permission_denied', status: 403 })
  })

  test('is judged by its Authorization alone where there is one', async () => {
    const headers = { authorization: 'Bearer other', origin: 'http://evil.example' }
    expect((await enter({ ...halves, ...headers })).headers).toEqual({ host, ...headers })
  })

  test('without the header has no authority', async () => {
    expect((await enter({ cookie: String(halves['cookie']) })).headers).toEqual({ host })
  })

  test('and no other is changed', async () => {
    const plain = { method: 'GET', target: '/v1/me', headers: { host, authorization: 'Bearer x' } }
    expect(await enterSession(plain)).toEqual({ request: plain, left: null })
  })
})

type Head = { method: string; target: string; headers: Record<string, string> }

describe('a sign-in', () => {
  const host = 'boxes.example:8080'
  const target = '/v1/session?ticket=x'
  const enter = (headers: Record<string, string>) =>
    enterSession<Head>({ method: 'POST', target, headers: { host, ...headers } })

  test.each([
    ['of a program', {}],
    ['of the own page', { origin: `http://${host}`, 'sec-fetch-site': 'same-origin' }],
    ['of the own page behind what takes TLS off', { origin: `https://${host}` }],
  ])('%s is let in', async (_, headers) => {
    expect(await enter(headers)).toEqual({
      request: { method: 'POST', target, headers: { host, ...headers } },
      left: null,
    })
  })

  test.each([
    ['its own token', { authorization: 'Bearer x' }, 'Bearer x'],
    ['the ticket of a link', {}, undefined],
  ])('with %s is judged by that, and leaves the session that comes with it', async (_, headers, authorization) => {
    const { request, left } = await enter({ ...halves, ...headers })
    expect([request.headers['authorization'], left]).toEqual([authorization, token])
    const alone = await enter({ ...halves, ...headers, cookie: 'a=1' })
    expect([alone.request.headers, alone.left]).toEqual([{ host, ...headers }, null])
  })

  test.each([
    ['another site', { origin: 'http://evil.example' }],
    ['another site, with a token', { origin: 'http://evil.example', authorization: 'Bearer x' }],
    ['another port', { origin: 'http://boxes.example:8000' }],
    ['a page without an origin', { origin: 'null' }],
    ['another site, as its browser says', { 'sec-fetch-site': 'cross-site' }],
  ])('of a page of %s is refused', async (_, headers) => {
    await expect(enter(headers)).rejects.toMatchObject({ code: 'permission_denied', status: 403 })
  })
})

describe('a cookie', () => {
  const answer = { status: 201, headers: { 'set-cookie': ['a=1; Path=/'] }, body: null }

  test('is for HTTPS and this host alone where the page came by it', async () => {
    const of = async (headers: Record<string, string>) =>
      (await secureCookies(answer, { headers })).headers['set-cookie']
    expect(await of({ origin: 'https://boxes.example' })).toEqual(['__Host-a=1; Path=/; Secure'])
    expect(await of({ origin: 'http://boxes.example' })).toEqual(['a=1; Path=/'])
    expect(await of({})).toEqual(['a=1; Path=/'])
  })
})

function cookieOf({ cookie }: ReturnType<typeof splitToken>): string {
  return `${cookie.name}=${cookie.value}`
}

function withSession(change: (text: string) => string): Record<string, string> {
  return { ...halves, 'x-boxyard-session': change(String(halves['x-boxyard-session'])) }
}
