import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { digestOf } from '../../../agent/core/common/digest.ts'
import { createUrlTicketHandlers } from '../../../agent/handlers/edge/url-tickets.ts'
import type { HttpResponse } from '../../../shared/http/messages.ts'
import {
  ADDRESS,
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

const API_HOST = 'api--web--demo.boxes.test'
const BOX_ID = 'box_web'
let lab: BackendLab

beforeEach(async () => {
  lab = await openBackendLab()
  for (const host of [BOX_HOST, API_HOST]) lab.hosts.set(host, targetOf({ id: BOX_ID }, host))
})

afterEach(() => lab.close())

/** Issues a ticket as the API does, by default to a new token. Returns the URL. */
async function ticketFor(url: string, token?: { id: string; expiresAt?: number }): Promise<URL> {
  const { createUrlTicket } = createUrlTicketHandlers({
    boxes: { get: async () => targetOf({ id: BOX_ID }).box },
    routes: { lookup: async (host) => lab.hosts.get(host) ?? null },
    address: ADDRESS,
    tickets: lab.tickets,
  })
  const { id, expiresAt = null }: { id: string; expiresAt?: number | null } = token ?? (await lab.mint())
  const caller = {
    ...{ tokenId: id, tokenName: 'me', root: id, accounts: [`token ${id}`], requestId: 'req_1' },
    ...{ projects: ['demo'], permissions: ['read' as const], expiresAt },
  }
  const call = { params: { project: 'demo', name: 'web' }, body: { url }, caller }
  const { body } = await createUrlTicket(call as unknown as Parameters<typeof createUrlTicket>[0])
  return new URL((body as { url: string }).url)
}

const cookiesOf = ({ headers }: { headers: HttpResponse['headers'] }): string[] => [headers['set-cookie'] ?? []].flat(2)
const bodyOf = ({ body }: HttpResponse): string => (typeof body === 'string' ? body : '')
const sessionOf = (answer: HttpResponse): string | undefined =>
  /^__Host-boxyard=([\w-]{43});/.exec(cookiesOf(answer)[0] ?? '')?.[1]

const ask = (url: URL, headers: Record<string, string> = {}, method = 'GET'): Promise<HttpResponse> =>
  lab.backend.handle(pageRequest(url.hostname, `${url.pathname}${url.search}`, { method, headers }))

/** Keeps cookies by host and follows redirects, as a browser does. */
class Browser {
  readonly #jar = new Map<string, Map<string, string>>()

  cookie(host: string): string {
    return [...(this.#jar.get(host) ?? [])].map(([name, value]) => `${name}=${value}`).join('; ')
  }

  /** Opens an address of the edge and follows redirects. Returns the first answer without one, or null if the request reaches the box. */
  async open(address: URL): Promise<HttpResponse | null> {
    for (let url = address, hops = 0; hops < 8; hops++) {
      const cookie = this.cookie(url.hostname)
      const isOwn = url.hostname === SIGN_IN_HOST || url.pathname.startsWith('/.boxyard/')
      const decision = isOwn
        ? null
        : await lab.backend.gate.decide(
            edgeRequest({
              host: url.hostname,
              target: `${url.pathname}${url.search}`,
              browses: true,
              headers: { cookie },
            }),
          )
      if (decision?.kind === 'forward') return null
      const answer = decision === null ? await ask(url, { cookie }) : answerOf(decision)
      for (const each of cookiesOf(answer)) this.#keep(url.hostname, each)
      const { location } = answer.headers
      if (typeof location !== 'string') return answer
      url = new URL(location)
    }
    throw new Error('there is no end to the redirects')
  }

  #keep(host: string, cookie: string): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
    const cookies = this.#jar.get(host) ?? new Map<string, string>()
    if (value === '') cookies.delete(name)
    else cookies.set(name, value)
    this.#jar.set(host, cookies)
  }
}

const open = async (url: URL): Promise<HttpResponse> => {
  const answer = await new Browser().open(url)
  if (answer === null) throw new Error('the box was reached')
  return answer
}

describe('a ticket for a URL', () => {
  test('begins a session at that host alone, leads to the page, and shows the ticket to no host of a box', async () => {
    const url = await ticketFor(`https://${BOX_HOST}/a?b=c#d`)
    expect(url.origin).toBe(`https://${SIGN_IN_HOST}`)
    const browser = new Browser()
    const opened = await browser.open(url)
    expect([opened?.status, opened && bodyOf(opened)]).toEqual([
      200,
      expect.stringContaining('content="0; url=/a?b=c#d"'),
    ])
    const session = opened ? (sessionOf(opened) ?? '') : ''
    expect([...lab.passing]).toEqual([[`${digestOf(session)}@${BOX_HOST}`, START + 7 * 86_400_000]])
    expect([browser.cookie(BOX_HOST), browser.cookie(SIGN_IN_HOST)]).toEqual([`__Host-boxyard=${session}`, ''])
    const elsewhere = edgeRequest({ host: API_HOST, cookie: `__Host-boxyard=${session}` })
    expect((await lab.backend.gate.decide(elsewhere)).kind).toBe('answer')
    const secret = url.searchParams.get('ticket') ?? ''
    expect(secret).toHaveLength(43)
    expect(lab.lines.join('\n')).not.toContain(secret)
    expect(lab.lines.join('\n')).toContain('"operation":"edge.visit"')
    const { headers } = await ask(await ticketFor(`https://${BOX_HOST}/a`))
    expect([headers.location, cookiesOf({ headers })[0]]).toEqual([
      `https://${BOX_HOST}/a`,
      expect.stringMatching(/^__Host-boxyard-ticket=.*; Path=\/; Max-Age=60; Secure; HttpOnly; SameSite=Lax$/),
    ])
  })

  test('works once, and for 60 s', async () => {
    const url = await ticketFor(`https://${BOX_HOST}/`)
    expect(sessionOf(await open(url))).toBeDefined()
    const again = await open(url)
    expect([again.status, bodyOf(again)]).toEqual([401, expect.stringContaining('already used')])
    const late = await ticketFor(`https://${BOX_HOST}/`)
    const browser = new Browser()
    const first = await ask(late)
    expect(first.status).toBe(302)
    lab.pass(60_000)
    expect((await browser.open(late))?.status).toBe(401)
    const cookie = cookiesOf(first)[0]?.split(';', 1)[0] ?? ''
    const query = new URLSearchParams({ host: BOX_HOST, target: '/', nonce: 'a'.repeat(64) })
    const form = await ask(new URL(`https://${SIGN_IN_HOST}/?${query.toString()}`), { cookie })
    expect([form.status, bodyOf(form)]).toEqual([200, expect.stringContaining('Access token')])
    expect(lab.passing.size).toBe(1)
  })

  test.each([
    ['another host', { host: API_HOST }],
    ['another page', { target: '/admin' }],
    ['a page of another host', { target: '//evil.test/' }],
    ['a host that no box has', { host: 'evil.test' }],
  ])('does not work for %s, leads nowhere, and that uses it up', async (_what, changes) => {
    const url = await ticketFor(`https://${BOX_HOST}/a`)
    const changed = new URL(url)
    for (const [name, value] of Object.entries(changes)) changed.searchParams.set(name, value)
    const refused = await ask(changed)
    expect([refused.status, refused.headers.location]).toEqual([401, undefined])
    expect((await ask(url)).status).toBe(401)
    expect(lab.passing.size).toBe(0)
  })

  test('does not work once another box has the host', async () => {
    const url = await ticketFor(`https://${BOX_HOST}/`)
    lab.hosts.set(BOX_HOST, targetOf({ id: 'box_other' }))
    expect(bodyOf(await open(url))).toContain('Access token')
    expect(lab.passing.size).toBe(0)
  })

  test('begins no session for a token that was revoked since, and lasts no longer than the token', async () => {
    const revoked = await lab.mint()
    const url = await ticketFor(`https://${BOX_HOST}/`, revoked)
    await lab.store.tokens.revoke(revoked.id, START)
    expect((await open(url)).status).toBe(401)
    expect(lab.passing.size).toBe(0)
    const expiresAt = START + 90_000
    const short = { ...(await lab.mint({ expiresAt })), expiresAt }
    expect(cookiesOf(await open(await ticketFor(`https://${BOX_HOST}/`, short)))[0]).toContain('Max-Age=90;')
  })

  test('leaves a browser its own session, so that no link changes who is signed in', async () => {
    const browser = new Browser()
    await browser.open(await ticketFor(`https://${BOX_HOST}/`))
    const before = browser.cookie(BOX_HOST)
    expect(before).toContain('__Host-boxyard=')
    expect(await browser.open(await ticketFor(`https://${BOX_HOST}/a`))).toBeNull()
    expect(browser.cookie(BOX_HOST)).toBe(before)
  })

  test('takes the form of a sign-in in another tab no page but its own', async () => {
    const browser = new Browser()
    const first = await ask(await ticketFor(`https://${BOX_HOST}/a`))
    const cookie = cookiesOf(first)[0]?.split(';', 1)[0] ?? ''
    for (const [host, target] of [
      [API_HOST, '/a'],
      [BOX_HOST, '/b'],
    ] as const) {
      const query = new URLSearchParams({ host, target, nonce: 'a'.repeat(64) })
      const form = await ask(new URL(`https://${SIGN_IN_HOST}/?${query.toString()}`), { cookie })
      expect([form.status, bodyOf(form)]).toEqual([200, expect.stringContaining('Access token')])
    }
    expect(browser.cookie(BOX_HOST)).toBe('')
  })

  test('is taken of a tab alone, not of a frame, a picture or a script', async () => {
    const url = await ticketFor(`https://${BOX_HOST}/`)
    for (const [mode, dest] of [
      ['navigate', 'iframe'],
      ['no-cors', 'image'],
      ['cors', 'empty'],
    ] as const) {
      const answer = await ask(url, { 'sec-fetch-mode': mode, 'sec-fetch-dest': dest })
      expect([answer.status, answer.headers['set-cookie']]).toEqual([403, undefined])
    }
    expect((await ask(url, {}, 'HEAD')).status).toBe(405)
    expect((await ask(url, { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' })).status).toBe(302)
  })

  test('guessing is limited for each address', async () => {
    const url = await ticketFor(`https://${BOX_HOST}/`)
    const guess = new URL(url)
    guess.searchParams.set('ticket', 'x'.repeat(43))
    const statuses: number[] = []
    for (let i = 0; i < 61; i++) statuses.push((await ask(guess)).status)
    expect(statuses.filter((status) => status === 401)).toHaveLength(60)
    expect([statuses.at(-1), (await ask(url)).status]).toEqual([429, 429])
  })

  test.each([
    ['no URL', 'web'],
    ['another scheme', 'javascript:alert(1)'],
    ['a file', `file://${BOX_HOST}/etc/passwd`],
    ['a host that no box has', 'https://evil.test/'],
    ['the host of another box', 'https://other--demo.boxes.test/'],
    ['the sign-in', 'https://sign-in.boxes.test/'],
    ["the edge's own path", `https://${BOX_HOST}/.boxyard/sign-out`],
    ["the edge's own path in escapes", `https://${BOX_HOST}/%2eboxyard/sign-out`],
    ['a path that is too long', `https://${BOX_HOST}/${'a'.repeat(2_048)}`],
  ])('is not issued for %s', async (_what, url) => {
    lab.hosts.set('other--demo.boxes.test', targetOf({ id: 'box_other', name: 'other' }))
    await expect(ticketFor(url)).rejects.toMatchObject({ code: 'invalid_request', errors: [{ pointer: '/url' }] })
  })
})
