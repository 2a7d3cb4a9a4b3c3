import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { digestOf } from '../../../agent/core/common/digest.ts'
import { createUrlTicketHandlers } from '../../../agent/handlers/edge/url-tickets.ts'
import type { HttpResponse } from '../../../shared/http/messages.ts'
import {
  ADDRESS,
  type BackendLab,
  BOX_HOST,
  edgeRequest,
  openBackendLab,
  pageRequest,
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

/** Issues a ticket as the API does, to a new token unless one is given. Returns its URL. */
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

const open = (url: URL, headers: Record<string, string> = {}): Promise<HttpResponse> =>
  lab.backend.handle(pageRequest(url.hostname, `${url.pathname}${url.search}`, { headers }))
const bodyOf = ({ body }: HttpResponse): string => (typeof body === 'string' ? body : '')
const sessionOf = ({ headers }: HttpResponse): string | undefined =>
  /^__Host-boxyard=([\w-]{43});/.exec(String(headers['set-cookie'] ?? ''))?.[1]

describe('a ticket for a URL', () => {
  test('begins a session at that host alone, and leads to the page', async () => {
    const url = await ticketFor(`https://${BOX_HOST}/a?b=c#d`)
    expect(url.origin).toBe(`https://${BOX_HOST}`)
    const opened = await open(url)
    expect([opened.status, bodyOf(opened)]).toEqual([200, expect.stringContaining('content="0; url=/a?b=c#d"')])
    const session = sessionOf(opened) ?? ''
    expect([...lab.passing]).toEqual([[`${digestOf(session)}@${BOX_HOST}`, START + 7 * 86_400_000]])
    const request = edgeRequest({ host: BOX_HOST, cookie: `__Host-boxyard=${session}` })
    expect((await lab.backend.gate.decide(request)).kind).toBe('forward')
    const elsewhere = edgeRequest({ host: API_HOST, cookie: `__Host-boxyard=${session}` })
    expect((await lab.backend.gate.decide(elsewhere)).kind).toBe('answer')
    const secret = url.searchParams.get('ticket') ?? ''
    expect(secret).toHaveLength(43)
    expect(lab.lines.join('\n')).not.toContain(secret)
    expect(lab.lines.join('\n')).toContain('"operation":"edge.visit"')
  })

  test('works once, and for 60 s', async () => {
    const url = await ticketFor(`https://${BOX_HOST}/`)
    expect((await open(url)).status).toBe(200)
    expect((await open(url)).status).toBe(401)
    const late = await ticketFor(`https://${BOX_HOST}/`)
    lab.pass(60_000)
    const refused = await open(late)
    expect([refused.status, sessionOf(refused)]).toEqual([401, undefined])
    expect(bodyOf(refused)).toContain('<a href="/">Sign in</a>')
  })

  test.each([
    ['another host', (url: URL) => (url.hostname = API_HOST)],
    ['another page', (url: URL) => url.searchParams.set('target', '/admin')],
    ['a page of another host', (url: URL) => url.searchParams.set('target', '//evil.test/')],
  ])('does not work for %s, and that uses it up', async (_what, change) => {
    const url = await ticketFor(`https://${BOX_HOST}/a`)
    const changed = new URL(url)
    change(changed)
    expect((await open(changed)).status).toBe(401)
    expect((await open(url)).status).toBe(401)
    expect(lab.passing.size).toBe(0)
  })

  test('does not work once another box has the host', async () => {
    const url = await ticketFor(`https://${BOX_HOST}/`)
    lab.hosts.set(BOX_HOST, targetOf({ id: 'box_other' }))
    expect((await open(url)).status).toBe(401)
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
    expect(String((await open(await ticketFor(`https://${BOX_HOST}/`, short))).headers['set-cookie'])).toContain(
      'Max-Age=90;',
    )
  })

  test('leaves a browser its own session, so that no link changes who is signed in', async () => {
    const own = sessionOf(await open(await ticketFor(`https://${BOX_HOST}/`))) ?? ''
    const opened = await open(await ticketFor(`https://${BOX_HOST}/a`), { cookie: `__Host-boxyard=${own}` })
    expect([opened.status, opened.headers['set-cookie']]).toEqual([200, undefined])
    expect(bodyOf(opened)).toContain('url=/a"')
    const ended = await open(await ticketFor(`https://${BOX_HOST}/`), { cookie: `__Host-boxyard=${'x'.repeat(43)}` })
    expect(sessionOf(ended)).toHaveLength(43)
  })

  test('guessing is limited for each address', async () => {
    const url = await ticketFor(`https://${BOX_HOST}/`)
    const guess = new URL(url)
    guess.searchParams.set('ticket', 'x'.repeat(43))
    const answers = []
    for (let i = 0; i < 61; i++) answers.push((await open(guess)).status)
    expect(answers.filter((status) => status === 401)).toHaveLength(60)
    expect(answers.at(-1)).toBe(429)
    expect((await open(url)).status).toBe(429)
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
