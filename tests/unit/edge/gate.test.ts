import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { digestOf } from '../../../agent/core/common/digest.ts'
import type { EdgeDecision, EdgeRequest } from '../../../agent/ports/edge/edge.ts'
import { boxRecord } from '../../helpers/boxes/box-records.ts'
import {
  answerOf,
  type BackendLab,
  BOX_HOST,
  edgeRequest,
  openBackendLab,
  pageRequest,
  START,
  targetOf,
} from '../../helpers/edge/backend.ts'

let lab: BackendLab

beforeEach(async () => {
  lab = await openBackendLab()
})

afterEach(() => lab.close())

const decide = (changed?: Parameters<typeof edgeRequest>[0]): Promise<EdgeDecision> =>
  lab.backend.gate.decide(edgeRequest(changed))

/** Returns the status and code of a refusal. */
async function refusalOf(changed?: Parameters<typeof edgeRequest>[0]): Promise<string> {
  const { status, headers, body } = answerOf(await decide(changed))
  expect(headers['content-type']).toBe('application/problem+json')
  expect(headers.location).toBeUndefined()
  const { code, status: told } = JSON.parse(body) as { code: string; status: number }
  expect(told).toBe(status)
  return `${status} ${code}`
}

const passesAs = (secret: string, scope: string): number | undefined => lab.passing.get(`${digestOf(secret)}@${scope}`)

/** Signs in, and returns the session's cookie. */
async function signIn(token: string, host = BOX_HOST): Promise<string> {
  const led = answerOf(await decide({ host, browses: true }))
  const nonceCookie = String(led.headers['set-cookie']).split(';', 1)[0] ?? ''
  const fields = Object.fromEntries(new URL(String(led.headers.location)).searchParams)
  const posted = await lab.backend.handle(pageRequest('sign-in.boxes.test', '/', { form: { ...fields, token } }))
  const back = new URL(String(posted.headers.location))
  const begun = await lab.backend.handle(
    pageRequest(back.host, `${back.pathname}${back.search}`, { headers: { cookie: nonceCookie } }),
  )
  return [begun.headers['set-cookie']].flat()[0]?.split(';', 1)[0] ?? ''
}

describe('a URL that takes a token', () => {
  beforeEach(() => {
    lab.hosts.set(BOX_HOST, targetOf({}))
  })

  test('admits a valid token, and grants it until it expires', async () => {
    const { token } = await lab.mint({ expiresAt: START + 60_000 })
    expect(await decide({ token })).toEqual({ kind: 'forward', route: lab.hosts.get(BOX_HOST)?.route })
    expect(passesAs(token, 'demo')).toBe(START + 60_000)
    lab.pass(60_000)
    expect(await refusalOf({ token })).toBe('401 token_expired')
  })

  test('grants a token without expiry for a day at a time', async () => {
    const { token } = await lab.mint()
    await decide({ token })
    expect(passesAs(token, 'demo')).toBe(START + 86_400_000)
  })

  test.each([
    ['none', {}, '401 token_missing'],
    ['one of another scheme', { headers: { authorization: 'Basic bWU6bWU=' } }, '401 token_missing'],
    ['one that is none', { token: 'x' }, '401 token_invalid'],
    ['a session that is none', { cookie: `__Host-boxyard=${'a'.repeat(43)}` }, '401 token_missing'],
    [
      'a preflight request of a browser',
      { method: 'OPTIONS', headers: { origin: 'https://a.test' } },
      '401 token_missing',
    ],
    ['a WebSocket of a browser', { browses: true, headers: { upgrade: 'websocket' } }, '401 token_missing'],
  ])('refuses %s', async (_what, changed, expected) => {
    // A browser gets a different body, the sign-in page, with the same status.
    const { status, body } = answerOf(await decide(changed))
    expect(`${status} ${/token_\w+/.exec(body)?.[0]}`).toBe(expected)
    expect(lab.passing.size).toBe(0)
  })

  test.each([
    ['of another project', { projects: ['other'] }, '403 permission_denied'],
    ['without `read`', { permissions: ['write', 'exec'] as const }, '403 permission_denied'],
    ['that has expired', { expiresAt: START - 1_000 }, '401 token_expired'],
  ])('refuses a token %s', async (_what, wanted, expected) => {
    const { token } = await lab.mint(wanted)
    expect(await refusalOf({ token })).toBe(expected)
    expect(lab.passing.size).toBe(0)
  })

  test('refuses a revoked token, and those minted with it, at once', async () => {
    const mother = await lab.mint({ permissions: ['read', 'admin'], projects: '*' })
    const child = await lab.mint({ createdBy: mother.id })
    const cookie = await signIn(child.token)
    await decide({ token: mother.token })
    await decide({ token: child.token })
    expect(lab.passing.size).toBe(3)
    const caller = {
      tokenId: mother.id,
      tokenName: 'me',
      root: mother.id,
      accounts: [],
      projects: '*' as const,
      permissions: ['admin' as const],
      expiresAt: null,
      requestId: 'req_1',
    }
    await lab.tokens.revoke(caller, mother.id)
    expect(lab.passing.size).toBe(0)
    expect(await refusalOf({ token: mother.token })).toBe('401 token_revoked')
    expect(await refusalOf({ token: child.token })).toBe('401 token_revoked')
    expect(await refusalOf({ cookie })).toBe('401 token_missing')
    expect(await lab.grants.live()).toEqual([])
  })

  test('redirects a browser to the sign-in, and no other client', async () => {
    const { status, headers, body } = answerOf(await decide({ browses: true, target: '/a?b=c' }))
    expect(status).toBe(302)
    const location = new URL(String(headers.location))
    expect(location.origin).toBe('https://sign-in.boxes.test')
    expect(location.searchParams.get('host')).toBe(BOX_HOST)
    expect(location.searchParams.get('target')).toBe('/a?b=c')
    const nonce = /^__Host-boxyard-nonce=([\w-]{43}); Path=\/; Max-Age=3600; Secure; HttpOnly; SameSite=Lax$/.exec(
      String(headers['set-cookie']),
    )?.[1]
    expect(location.searchParams.get('nonce')).toBe(digestOf(nonce ?? ''))
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
    expect(body).toBe('')
    // Several pages opened at the same time share one nonce.
    const again = answerOf(await decide({ browses: true, cookie: `__Host-boxyard-nonce=${nonce}` }))
    expect(new URL(String(again.headers.location)).searchParams.get('nonce')).toBe(digestOf(nonce ?? ''))
    expect(again.headers['set-cookie']).toBeUndefined()
    // A browser that sends a bad token gets an error page, not the sign-in page.
    const shown = answerOf(await decide({ browses: true, token: 'x' }))
    expect([shown.status, shown.headers['content-type']]).toEqual([401, 'text/html; charset=utf-8'])
  })

  test('admits a session at its host only, also if a program uses tokens of its own', async () => {
    const cookie = await signIn((await lab.mint()).token)
    expect(await decide({ cookie })).toMatchObject({ kind: 'forward' })
    expect(await decide({ cookie, token: "of the box's own" })).toMatchObject({ kind: 'forward' })
    const other = 'api--demo.boxes.test'
    lab.hosts.set(other, targetOf({ name: 'api' }, other))
    expect(await refusalOf({ host: other, cookie })).toBe('401 token_missing')
  })

  test.each([
    ['POST', {}, false],
    ['POST', { origin: 'https://evil.test' }, false],
    ['GET', { upgrade: 'websocket', origin: 'https://evil.test' }, false],
    ['POST', { origin: `https://${BOX_HOST}` }, true],
    ['GET', { upgrade: 'websocket', origin: `https://${BOX_HOST}` }, true],
    ['GET', { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'script' }, false],
    ['GET', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }, false],
    ['GET', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }, true],
  ])('of a session takes %s %j: %s', async (method, headers: Record<string, string>, passes) => {
    const { token } = await lab.mint()
    const cookie = await signIn(token)
    if (passes) expect(await decide({ method, headers, cookie })).toMatchObject({ kind: 'forward' })
    else expect(await refusalOf({ method, headers, cookie })).toBe('403 permission_denied')
    // Browsers never add a token on their own, so this is not a forgery.
    expect(await decide({ method, headers, cookie, token })).toMatchObject({ kind: 'forward' })
  })

  test('lets a browser forget a session that has ended, and what it kept of its pages', async () => {
    const over = { cookie: `__Host-boxyard=${'a'.repeat(43)}`, headers: { 'sec-fetch-site': 'none' } }
    for (const browses of [true, false]) {
      const { status, headers } = answerOf(await decide({ ...over, browses }))
      expect([status, headers['clear-site-data']]).toEqual([browses ? 302 : 401, '"cache"'])
      expect([headers['set-cookie']].flat().at(-1)).toMatch(/^__Host-boxyard=; Path=\/; Max-Age=0;/)
    }
    expect(answerOf(await decide({ browses: true })).headers['clear-site-data']).toBeUndefined()
    const cookie = await signIn((await lab.mint()).token)
    const foreign = { 'sec-fetch-site': 'same-site' }
    expect(answerOf(await decide({ cookie, headers: foreign })).headers['clear-site-data']).toBeUndefined()
  })

  test('keeps sessions and tokens over a restart', async () => {
    const { token } = await lab.mint()
    const cookie = await signIn(token)
    await decide({ token })
    await lab.restart()
    expect((await lab.grants.live()).map(({ scope }) => scope).sort()).toEqual(['demo', BOX_HOST])
    expect(await decide({ cookie })).toMatchObject({ kind: 'forward' })
    lab.pass(7 * 86_400_000)
    expect(await lab.grants.live()).toEqual([])
    expect(await refusalOf({ cookie })).toBe('401 token_missing')
  })

  test('ends the sessions of a domain that went to another project', async () => {
    const host = 'shop.example.test'
    const box = boxRecord({ domains: [host] })
    await lab.store.boxes.insert({ ...box, domains: [] })
    await lab.store.boxes.publish({ ...box, version: box.version + 1 })
    lab.hosts.set(host, { ...targetOf({}, host), box })
    const cookie = await signIn((await lab.mint()).token, host)
    expect(await decide({ host, cookie })).toMatchObject({ kind: 'forward' })
    const other = boxRecord({ project: 'other' })
    await lab.store.boxes.insert(other)
    await lab.store.boxes.publish({ ...box, domains: [], version: box.version + 2 })
    await lab.store.boxes.publish({ ...other, domains: [host], version: other.version + 1 })
    lab.hosts.set(host, targetOf({ project: 'other' }, host))
    expect(await lab.grants.live()).toEqual([])
    expect(await refusalOf({ host, cookie })).toBe('401 token_missing')
    await lab.grants.revokeEnded()
    expect(lab.passing.size).toBe(0)
  })

  test('logs no secret', async () => {
    const { token } = await lab.mint()
    const cookie = await signIn(token)
    await decide({ token, method: 'POST' })
    await decide({ cookie, method: 'POST' })
    await decide({ token: `${token}x` })
    const log = lab.lines.join('\n')
    expect(log).toContain('edge.sign_in')
    for (const secret of [token, cookie.slice(cookie.indexOf('=') + 1)]) expect(log).not.toContain(secret)
  })
})

describe('a public URL', () => {
  test('admits every request', async () => {
    lab.hosts.set(BOX_HOST, targetOf({ auth: 'public' }))
    expect(await decide({ method: 'POST' })).toMatchObject({ kind: 'forward' })
    expect(lab.passing.size).toBe(0)
  })
})

describe('a name without a box', () => {
  const unknown = 'nothing--demo.boxes.test'

  test('answers as a private box does', async () => {
    lab.hosts.set(BOX_HOST, targetOf({}))
    const foreign = await lab.mint({ projects: ['other'] })
    const requests: Partial<EdgeRequest & { token: string; browses: boolean }>[] = [
      {},
      { method: 'POST' },
      { token: 'x' },
      { token: foreign.token },
      { browses: true },
    ]
    const headers = { 'x-request-id': 'req_1' }
    for (const request of requests) {
      const [known, other] = [
        await decide({ ...request, headers }),
        await decide({ ...request, headers, host: unknown }),
      ]
      const shown = JSON.stringify(other).replaceAll(unknown, BOX_HOST)
      const hidden = /nonce=[\w-]+/g
      expect(shown.replaceAll(hidden, '')).toBe(JSON.stringify(known).replaceAll(hidden, ''))
    }
  })

  test('is not found with a token of its project, and is not granted', async () => {
    const { token } = await lab.mint()
    expect(await refusalOf({ host: unknown, token })).toBe('404 box_not_found')
    expect(lab.passing.size).toBe(0)
  })

  test('without a project is not found with a token of all projects', async () => {
    const host = 'box-00000000000000000000000000.boxes.test'
    expect(await refusalOf({ host, token: (await lab.mint()).token })).toBe('403 permission_denied')
    expect(await refusalOf({ host, token: (await lab.mint({ projects: '*' })).token })).toBe('404 box_not_found')
  })

  test('of another domain is not found', async () => {
    expect(await refusalOf({ host: 'shop.example.test' })).toBe('404 box_not_found')
    const { status, headers, body } = answerOf(
      await decide({ host: '<script>.test', browses: true, target: '/<script>' }),
    )
    expect([status, headers['content-type']]).toEqual([404, 'text/html; charset=utf-8'])
    expect(body).not.toContain('<script>')
  })
})

describe('a host of another cell', () => {
  const to = { address: '10.0.0.2', port: 8093 }

  test('is led there without a look at who asks, and never on from there', async () => {
    lab.led.set(BOX_HOST, to)
    expect(await decide()).toEqual({ kind: 'lead', to })
    expect(await decide({ browses: true, target: '/.boxyard/session', isOwn: true })).toEqual({ kind: 'lead', to })
    expect(await refusalOf({ isLed: true })).toBe('401 token_missing')
  })

  test('is not that of an own page of this cell', async () => {
    expect(await decide({ target: '/.boxyard/session', isOwn: true })).toEqual({ kind: 'own' })
  })
})
