import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { digestOf } from '../../../agent/core/common/digest.ts'
import type { HttpResponse } from '../../../shared/http/messages.ts'
import {
  answerOf,
  type BackendLab,
  BOX_HOST,
  edgeRequest,
  openBackendLab,
  pageRequest,
  SIGN_IN_HOST,
  START,
  targetOf,
} from '../../helpers/edge/backend.ts'
import { jsonOf } from '../../helpers/front/test-front.ts'

let lab: BackendLab
let token: string
/** Query of the redirect to the sign-in page. */
let fields: Record<string, string>
let nonceCookie: string

beforeEach(async () => {
  lab = await openBackendLab()
  lab.hosts.set(BOX_HOST, targetOf({}))
  token = (await lab.mint()).token
  const led = answerOf(await lab.backend.gate.decide(edgeRequest({ browses: true, target: '/a?b=c' })))
  nonceCookie = String(led.headers['set-cookie']).split(';', 1)[0] ?? ''
  fields = Object.fromEntries(new URL(String(led.headers.location)).searchParams)
})

afterEach(() => lab.close())

const ask = (host: string, target: string, how?: Parameters<typeof pageRequest>[2]): Promise<HttpResponse> =>
  lab.backend.handle(pageRequest(host, target, how))
const showForm = (changed: Record<string, string> = {}) =>
  ask(SIGN_IN_HOST, `/?${new URLSearchParams({ ...fields, ...changed }).toString()}`)
const post = (changed: Record<string, string> = {}, headers: Record<string, string> = {}) =>
  ask(SIGN_IN_HOST, '/', { form: { ...fields, token, ...changed }, headers })
const codeOf = (answer: HttpResponse): string => new URL(String(answer.headers.location)).searchParams.get('code') ?? ''
const begin = (code: string, { host = BOX_HOST, cookie = nonceCookie } = {}) =>
  ask(host, `/.boxyard/session?code=${code}`, { headers: { cookie } })
async function revoked(): Promise<string> {
  const { id, token: ended } = await lab.mint()
  await lab.store.tokens.revoke(id, START)
  return ended
}
/** Returns the address to which a page redirects automatically. */
const targetOfPage = ({ body }: HttpResponse): string | undefined =>
  /http-equiv="refresh" content="0; url=([^"]*)"/.exec(typeof body === 'string' ? body : '')?.[1]
const cookiesOf = (answer: HttpResponse): string[] => [answer.headers['set-cookie'] ?? []].flat(2)

describe('the sign-in', () => {
  test('exchanges a token for a session by a code, and redirects to the requested page', async () => {
    const posted = await post()
    expect(posted.status).toBe(303)
    expect(String(posted.headers.location)).toMatch(
      /^https:\/\/web--demo\.boxes\.test\/\.boxyard\/session\?code=[\w-]{43}$/,
    )
    const begun = await begin(codeOf(posted))
    expect([begun.status, targetOfPage(begun)]).toEqual([200, '/a?b=c'])
    const [session = '', nonce] = cookiesOf(begun)
    expect(session).toMatch(/^__Host-boxyard=[\w-]{43}; Path=\/; Max-Age=604800; Secure; HttpOnly; SameSite=Lax$/)
    expect(nonce).toMatch(/^__Host-boxyard-nonce=; Path=\/; Max-Age=0;/)
    const value = /=([\w-]{43});/.exec(session)?.[1] ?? ''
    expect(lab.passing).toEqual(new Map([[`${digestOf(value)}@${BOX_HOST}`, START + 7 * 86_400_000]]))
    const kept = JSON.stringify(await lab.store.edgeGrants.live(START))
    expect(kept).toContain(digestOf(value))
    for (const secret of [value, token, codeOf(posted)]) {
      expect(kept).not.toContain(secret)
      expect(lab.lines.join('\n')).not.toContain(secret)
    }
  })

  test('lasts no longer than the token', async () => {
    const short = await lab.mint({ expiresAt: START + 90_000 })
    const begun = await begin(codeOf(await post({ token: short.token })))
    expect(cookiesOf(begun)[0]).toContain('Max-Age=90;')
    expect([...lab.passing.values()]).toEqual([START + 90_000])
  })

  test('takes a code once', async () => {
    const code = codeOf(await post())
    expect((await begin(code)).status).toBe(200)
    expect((await begin(code)).status).toBe(401)
  })

  test('takes no code after 60 s', async () => {
    const code = codeOf(await post())
    lab.pass(60_000)
    expect((await begin(code)).status).toBe(401)
  })

  test.each([
    ['another host', { host: 'api--demo.boxes.test' }],
    ['another browser', { cookie: `__Host-boxyard-nonce=${'b'.repeat(43)}` }],
    ['a browser that keeps no cookies', { cookie: '' }],
  ])('takes no code of %s, and that uses it up', async (_what, from) => {
    const code = codeOf(await post())
    const refused = await begin(code, from)
    expect(refused.status).toBe(401)
    expect(refused.headers['set-cookie']).toBeUndefined()
    expect((await begin(code)).status).toBe(401)
    expect(lab.passing.size).toBe(0)
  })

  test('fails if the token is revoked between form and session', async () => {
    const { id, token: ended } = await lab.mint()
    const code = codeOf(await post({ token: ended }))
    await lab.store.tokens.revoke(id, START)
    expect((await begin(code)).status).toBe(401)
    expect(lab.passing.size).toBe(0)
  })

  test.each([
    ['a wrong', async () => 'x', 401],
    ['no', async () => '', 401],
    ["another project's", async () => (await lab.mint({ projects: ['other'] })).token, 403],
    ['an expired', async () => (await lab.mint({ expiresAt: START - 1_000 })).token, 401],
    ['a revoked', async () => revoked(), 401],
  ])('asks again after %s token, which it does not repeat', async (_what, mint, status) => {
    const wrong = await mint()
    const answer = await post({ token: wrong })
    expect(answer.status).toBe(status)
    expect(answer.body).toContain('role="alert"')
    expect(answer.body).toContain('<label for="token">')
    if (wrong.length > 1) expect(answer.body).not.toContain(wrong)
    expect(lab.lines.join('\n')).toContain(`"status":${status}`)
  })

  test('takes a token with space around it', async () => {
    expect((await post({ token: ` ${token}\n` })).status).toBe(303)
  })

  test('reports a missing name to tokens of its project, and never redirects to foreign hosts', async () => {
    const unknown = await post({ host: 'nothing--demo.boxes.test' })
    expect(unknown.status).toBe(404)
    expect((await post({ host: 'nothing--demo.boxes.test', token: 'x' })).status).toBe(401)
    for (const host of ['evil.test', 'demo', `${BOX_HOST}@evil.test`, 'evil.test/', SIGN_IN_HOST, '']) {
      const answer = await post({ host })
      expect([400, 404]).toContain(answer.status)
      expect(answer.headers.location).toBeUndefined()
      expect([400, 404]).toContain((await showForm({ host })).status)
    }
  })

  test('keeps only the local part of a redirect target', async () => {
    const begun = await begin(codeOf(await post({ target: '//evil.test' })))
    expect(targetOfPage(begun)).toBe('/')
  })

  test('refuses a form from another page', async () => {
    for (const site of ['cross-site', 'same-site'])
      expect((await post({}, { 'sec-fetch-site': site })).status).toBe(403)
    expect((await post({}, { 'sec-fetch-site': 'same-origin' })).status).toBe(303)
  })

  test('refuses networks with too many failures', async () => {
    for (let guess = 0; guess < 60; guess++) expect((await post({ token: `x${guess}` })).status).toBe(401)
    expect((await post()).status).toBe(429)
  })

  test('refuses networks with too many wrong codes', async () => {
    const code = codeOf(await post())
    for (let guess = 0; guess < 60; guess++) expect((await begin(`x${guess}`)).status).toBe(401)
    expect((await begin(code)).status).toBe(429)
    expect((await post()).status).toBe(429)
    lab.pass(1_000)
    expect((await begin(code)).status).toBe(200)
  })

  test('counts no failure of a code that another browser or host brings, or of a token that may not enter', async () => {
    for (let time = 0; time < 61; time++) {
      const code = codeOf(await post())
      expect((await begin(code, time % 2 === 0 ? { cookie: '' } : { host: 'api--demo.boxes.test' })).status).toBe(401)
    }
    const foreign = (await lab.mint({ projects: ['other'] })).token
    for (let time = 0; time < 61; time++) expect((await post({ token: foreign })).status).toBe(403)
    expect((await post()).status).toBe(303)
  })
})

describe('the page that asks for a token', () => {
  test('loads nothing, runs nothing and is shown in no frame', async () => {
    const { status, headers, body } = await showForm()
    expect(status).toBe(200)
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    })
    const policy = String(headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'; style-src 'sha256-")
    expect(policy).toContain(`form-action 'self' https://${BOX_HOST};`)
    expect(policy).toContain("frame-ancestors 'none'")
    expect(body).not.toMatch(/<script|src=|https?:/)
  })

  test('escapes its input as text', async () => {
    const { body } = await showForm({ target: `/"><script>alert(1)</script>&'` })
    expect(body).toContain(`value="/&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;&#39;"`)
    expect(body).not.toContain('<script>')
  })

  test('is refused for an incomplete query', async () => {
    expect((await showForm({ nonce: 'x' })).status).toBe(400)
    expect((await ask(SIGN_IN_HOST, '/')).status).toBe(200)
    expect((await ask(SIGN_IN_HOST, '/favicon.ico')).status).toBe(404)
    const put = await ask(SIGN_IN_HOST, '/', { method: 'PUT' })
    expect([put.status, put.headers.allow]).toEqual([405, 'GET, HEAD, POST'])
    expect((await ask(SIGN_IN_HOST, '/.boxyard/session?code=x')).status).toBe(404)
  })

  test('takes nothing but a form', async () => {
    expect((await ask(SIGN_IN_HOST, '/', { method: 'POST' })).status).toBe(415)
  })
})

describe('the sign-out', () => {
  let cookie: string
  const signOut = (how: Parameters<typeof pageRequest>[2] = {}) =>
    ask(BOX_HOST, '/.boxyard/sign-out', { ...how, headers: { cookie, ...how.headers } })

  beforeEach(async () => {
    cookie = cookiesOf(await begin(codeOf(await post())))[0]?.split(';', 1)[0] ?? ''
  })

  test('ends the session and clears its cookie', async () => {
    const { status, headers } = await signOut()
    expect(status).toBe(200)
    expect(headers).toMatchObject({
      'set-cookie': ['__Host-boxyard=; Path=/; Max-Age=0; Secure; HttpOnly; SameSite=Lax'],
      'clear-site-data': '"cache"',
    })
    expect(lab.passing.size).toBe(0)
    expect(answerOf(await lab.backend.gate.decide(edgeRequest({ cookie }))).status).toBe(401)
    expect((await signOut()).status).toBe(200)
  })

  test('asks for confirmation if another page leads to it', async () => {
    const asked = await signOut({ headers: { 'sec-fetch-site': 'cross-site' } })
    expect(asked.body).toContain('<form method="post" action="/.boxyard/sign-out">')
    expect((await signOut({ method: 'POST', headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(403)
    expect(lab.passing.size).toBe(1)
    expect((await signOut({ method: 'POST', headers: { 'sec-fetch-site': 'same-origin' } })).status).toBe(200)
    expect(lab.passing.size).toBe(0)
  })
})

describe('the page of a problem', () => {
  test.each([BOX_HOST, SIGN_IN_HOST, 'nothing.example.org'])('is shown at %s, without a token', async (host) => {
    const refused = await ask(host, '/.boxyard/x', { headers: { accept: '*/*' } })
    const type = String(jsonOf(refused).type)
    const told = await ask(host, type, { headers: { accept: '*/*' } })
    expect([told.status, jsonOf(told)]).toEqual([200, expect.objectContaining({ type })])
    const page = await ask(host, type)
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    expect((await ask(host, '/.boxyard/problems')).status).toBe(200)
    expect((await ask(host, '/.boxyard/problems/nothing')).status).toBe(404)
    expect((await ask(host, type, { method: 'POST' })).status).toBe(405)
  })
})

describe('any other path below /.boxyard/', () => {
  test('is not found, as HTML or JSON', async () => {
    const page = await ask(BOX_HOST, '/.boxyard/x')
    expect([page.status, page.headers['content-type']]).toEqual([404, 'text/html; charset=utf-8'])
    const problem = await ask(BOX_HOST, '/.boxyard/x', { headers: { accept: '*/*' } })
    expect([problem.status, problem.headers['content-type']]).toEqual([404, 'application/problem+json'])
    expect((await ask('a b', '/.boxyard/session')).status).toBe(404)
    expect((await ask(BOX_HOST, '/.boxyard/session', { method: 'POST' })).status).toBe(405)
  })
})
