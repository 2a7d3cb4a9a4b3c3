import type { RequestListener } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { TOKEN_PREFIX } from '../../../shared/auth/tokens.ts'
import { createEdgeLab, type EdgeLab, grantOf, type LabAnswer } from '../../helpers/edge/lab.ts'

const OPEN = 'open--demo.boxes.corp.test'
const SHUT = 'shut--demo.boxes.corp.test'
const TOKEN = `${TOKEN_PREFIX}payload.signature`

let lab: EdgeLab
/** Headers of the box's answers. */
let sent: Record<string, string | string[]>

beforeAll(async () => {
  lab = createEdgeLab({ signInHost: 'sign-in.boxes.corp.test', scheme: 'https' })
  const answer: RequestListener = (_incoming, outgoing) => outgoing.writeHead(200, sent).end('x')
  const box = await lab.startUpstream(answer)
  await lab.open({
    routes: [lab.route(OPEN, box), lab.route(SHUT, box, { auth: 'token' })],
    grants: [grantOf('the-session', SHUT), grantOf(TOKEN, 'demo')],
  })
})
afterAll(() => lab.close())

function get(host: string, ...headers: string[]): Promise<LabAnswer> {
  return lab.ask(['GET / HTTP/1.1', `host: ${host}`, ...headers])
}

describe('the Domain of a cookie of a box', () => {
  test.each([
    ['a=1; Domain=boxes.corp.test; Path=/', 'a=1; Path=/'],
    ['a=1; path=/;domain=.boxes.corp.test', 'a=1; path=/'],
    ['a=1; DOMAIN = .Boxes.Corp.Test ; Secure', 'a=1; Secure'],
    ['a=1;\tdomain\t=\tboxes.corp.test', 'a=1'],
    ['a=1; Domain=..boxes.corp.test.', 'a=1'],
    ['a=1; Domain=corp.test', 'a=1'],
    ['a=1; Domain=test', 'a=1'],
    ['a=1; Domain=boxes%2ecorp.test', 'a=1'],
    ['a=1; Domain=ｂoxes.corp.test', 'a=1'],
    ['a=1; Domain="boxes.corp.test"', 'a=1'],
    ['a=1; Domain=boxes.corp.test x', 'a=1'],
    ['; domain=boxes.corp.test', ''],
    ['a=1; Domain=example.org; Domain=boxes.corp.test', 'refused=; Max-Age=0'],
    ['a=1; Domain=boxes.corp.test; x; domain=boxes.corp.test; Path=/', 'refused=; Max-Age=0'],
  ])('is taken out of %s', async (cookie, expected) => {
    sent = { 'set-cookie': ['first=1', Buffer.from(cookie).toString('latin1'), 'last=1; Domain=corp.test'] }
    const { headers } = await get(OPEN)
    const cookies = [...headers.matchAll(/^set-cookie: ?(.*)$/gm)].map(([, value]) => value?.trim())
    expect(cookies).toEqual(['first=1', expected.toLowerCase(), 'last=1'])
  })

  test.each([
    'a=1; Domain=open--demo.boxes.corp.test; Path=/',
    'a=1; Domain=shop.example.org',
    'a=1; Domain=example.org; HttpOnly',
    'a=1; Domain=notboxes.corp.test',
    'a=1; Domain=xtest',
    'domain=boxes.corp.test; Path=/',
    'a=domain=corp.test',
    'a=1; Path=/domain=corp.test; SameSite=Lax',
    'a=1; xdomain=corp.test',
  ])('stays in %s', async (cookie) => {
    sent = { 'set-cookie': cookie }
    expect((await get(OPEN)).headers).toContain(`set-cookie: ${cookie.toLowerCase()}`)
  })

  test('is sought in a long cookie in no time', async () => {
    sent = { 'set-cookie': `a=${'; '.repeat(3_000)}; domain =${' '.repeat(2_000)};` }
    const began = performance.now()
    expect((await get(OPEN)).status).toBe(200)
    expect(performance.now() - began).toBeLessThan(1_000)
  })
})

describe('an answer to a session', () => {
  const session = 'cookie: __Host-boxyard=the-session'
  const own = 'sec-fetch-site: same-origin'
  const [isolation, opener] = ['cross-origin-resource-policy: same-origin', 'cross-origin-opener-policy: ']

  test('that is a page is kept in no cache, and apart from who opened it', async () => {
    sent = { 'cache-control': 'public, max-age=3600', 'cross-origin-resource-policy': 'cross-origin' }
    const old = ['accept: text/html']
    for (const how of [['sec-fetch-site: cross-site', 'sec-fetch-mode: navigate', 'sec-fetch-dest: document'], old]) {
      const { status, headers } = await get(SHUT, session, ...how)
      // No browser keeps pages with a status other than 200 in memory.
      expect(status).toBe(how === old ? 200 : 203)
      expect(headers.match(/cache-control: .*[^\r]/g)).toEqual(['cache-control: no-store'])
      expect(headers.match(/cross-origin.*[^\r]/g)).toEqual([`${isolation}`, `${opener}same-origin-allow-popups`])
    }
    sent = { 'cross-origin-opener-policy': 'unsafe-none' }
    const { headers } = await get(SHUT, session, ...old)
    expect(headers.match(/cross-origin-opener.*[^\r]/g)).toEqual([`${opener}unsafe-none`])
  })

  test('that is a part of a page is kept for pages of its host alone', async () => {
    sent = { 'cache-control': 'public, max-age=3600', vary: 'accept' }
    const { headers } = await get(SHUT, session, own, 'sec-fetch-mode: no-cors', 'sec-fetch-dest: script')
    expect(headers).toContain(`${isolation}`)
    expect(headers.match(/(cache-control|vary): .*/g)?.map((line) => line.trim())).toEqual([
      'cache-control: public, max-age=3600',
      'vary: accept',
      'cache-control: private',
      'vary: sec-fetch-site',
    ])
  })

  test('is as the box gave it to a bearer, and at a public host', async () => {
    sent = { 'cache-control': 'public, max-age=3600' }
    const answers = [
      await get(SHUT, session, `authorization: Bearer ${TOKEN}`, 'accept: text/html'),
      await get(OPEN, session),
    ]
    for (const { headers } of answers) {
      expect(headers).toContain('cache-control: public, max-age=3600')
      expect(headers).not.toMatch(/no-store|private|vary|cross-origin/)
    }
  })
})
