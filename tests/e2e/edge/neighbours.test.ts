import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Page } from 'playwright-core'
import { cookiePage } from '../../../agent/drivers/edge/cookie-page.ts'
import { type BrowserUser, useBrowser } from '../../helpers/edge/browser.ts'
import { encryptDomain } from '../../helpers/edge/certificates.ts'
import { makeSites, SITES, takeHeard } from '../../helpers/edge/sites.ts'
import { useOwnService } from '../../helpers/own-service.ts'

// The hosts of boxes are same-site. Unlike at localhost, browsers send `SameSite` cookies between them.
const DOMAIN = 'boxes.corp.test'
const { client, service } = useOwnService()

/** Attacks that tests/fixtures/page-attacks.mjs implements. */
const PAGE_ATTACKS = new URL('../../fixtures/page-attacks.mjs', import.meta.url).pathname
const WAYS = [
  ...['script', 'picture', 'style', 'prefetch', 'frame', 'object', 'form in a frame', 'fetch', 'plain fetch'],
  ...['fetch with a header', 'fetch of a page', 'fetch without referrer', 'plain post', 'beacon', 'events', 'socket'],
  ...['worker', 'service worker'],
]
/** Sets more cookies of the parent domain than a request can carry, some of them with a path, a partition or an unusual name. */
const STUFF = `for (let index = 0; index < 50; index++) {
  const [path, last] = [index % 10 === 0 ? '/deep/down' : '/', index % 3 === 0 ? '; Partitioned' : '']
  const domain = index % 2 ? '${DOMAIN}' : '${DOMAIN.split('.').slice(1).join('.')}'
  const name = index === 1 ? '' : index % 5 ? 'c' + index : '__Secure-c' + index
  document.cookie = name + '=' + 'x'.repeat(3000) + '; Secure; Path=' + path + '; Domain=' + domain + last
}`
let trust: string
beforeAll(async () => {
  const encrypted = encryptDomain(service().dataDir, DOMAIN)
  trust = encrypted.trust
  await service().killAgent('SIGTERM')
  await service().startAgent(encrypted.settings)
  await makeSites(client, { private: 'token', open: 'public' })
})
const { newUser } = useBrowser(DOMAIN, { trust: () => trust })

let user: BrowserUser
let page: Page
let token: { id: string; token: string }
/** URLs of a private box, and of another tenant's box whose pages attack it. */
let [url, attacker] = ['', '']

beforeAll(async () => {
  url = (await client.get(`${SITES}/private`)).body.url
  attacker = (await client.get(`${SITES}/open`)).body.url
  await beginSession()
})

/** Signs a new user in at the private box. */
async function beginSession(): Promise<void> {
  token = (await client.post('/v1/tokens', { name: 'v', projects: ['browser'], permissions: ['read'] })).body
  user = await newUser()
  page = user.page
  await user.context.addInitScript({ path: PAGE_ATTACKS })
  await signIn()
}

async function signIn(): Promise<void> {
  await page.goto(url)
  await page.getByLabel('Access token').fill(token.token)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL(url, { waitUntil: 'commit' })
  await page.waitForSelector('h1:text-is("GET /")')
}

/** Returns the targets that the private box received, without favicons. */
async function heardTargets(): Promise<string[]> {
  const heard = await takeHeard(client, 'private')
  return [...heard.matchAll(/^\w+ (\S+)/gm)].map(([, path = '']) => path).filter((path) => path !== '/favicon.ico')
}

/** Makes the page attack a URL. Resolves with what the page learned. */
function attack(way: string, at: string): Promise<string> {
  return page.evaluate(`attacks[${JSON.stringify(way)}](${JSON.stringify(at)})`)
}

describe('a page of another box, which is of the same site,', () => {
  beforeEach(async () => {
    await page.goto(attacker)
    await takeHeard(client, 'private')
  })

  test.each(WAYS)('gets nothing of a private one by %s', async (way) => {
    expect(await attack(way, `${url}secret.js`)).toBe('nothing')
    expect(await heardTargets()).toEqual([])
  })

  test('reads nothing that the cache of the browser has of a private one', async () => {
    await page.goto(url)
    for (const kept of ['kept.js', 'kept']) expect(await attack('fetch', `${url}${kept}`)).toBe('status 200')
    await takeHeard(client, 'private')
    expect([await attack('script', `${url}kept.js`), await heardTargets()]).toEqual(['the secret', []])
    await page.goto(attacker)
    expect(await attack('script', `${url}kept.js`)).toBe('nothing')
    for (const way of ['fetch', 'frame', 'prefetch', 'worker'])
      expect(await attack(way, `${url}${way === 'worker' ? 'kept.js' : 'kept'}`)).toBe('nothing')
  })

  test('sets no cookie of the others', async () => {
    await page.goto(`${attacker}cookies`)
    const names = (await user.context.cookies()).filter(({ domain }) => domain.startsWith('.')).map(({ name }) => name)
    expect(names).toEqual([])
    expect(await page.evaluate('document.cookie')).toContain('from-boxes.corp.test=1')
    await page.goto(url)
    expect(await takeHeard(client, 'private')).not.toContain('from-')
  })

  // Caddy returns this response, but HAProxy cannot.
  test.each(['', 'deep/down'])('makes requests too large by cookies, which the answer deletes: %s', async (path) => {
    const { headers, body } = cookiePage()
    await page.evaluate(STUFF)
    await user.context.route(`${url}${path}`, (route) => route.fulfill({ status: 431, headers, body }), { times: 1 })
    await page.goto(`${url}${path}`)
    await page.getByRole('button', { name: 'Delete the cookies' }).click()
    await page.waitForSelector(`h1:text-is("GET /${path}")`)
    expect((await page.goto(attacker))?.status()).toBe(200)
    expect(
      (await user.context.cookies()).filter(({ path: at, domain }) => at === `/${path}` && domain.startsWith('.')),
    ).toEqual([])
  })

  test('opens it, as links do, and cannot follow it', async () => {
    await page.setContent(`<a href="${url}from-link">Go</a>`)
    await page.getByRole('link').click()
    await page.waitForSelector('h1:text-is("GET /from-link")')
    await page.goto(attacker)
    await page.setContent(`<form action="${url}from-form"><button>Go</button></form>`)
    await page.getByRole('button').click()
    await page.waitForSelector('h1:text-is("GET /from-form?")')
    await page.reload()
    await page.waitForSelector('h1:text-is("GET /from-form?")')
    await page.goto(attacker)
    const opened = user.context.waitForEvent('page')
    await page.evaluate(`void (globalThis.opened = window.open(${JSON.stringify(`${url}from-window`)}))`)
    await (await opened).waitForSelector('h1:text-is("GET /from-window")')
    expect(await page.evaluate('opened.closed')).toBe(true)
    expect(await (await opened).evaluate('window.opener')).toBe(null)
  })

  test('reads a public one', async () => {
    const other = (await client.get(`${SITES}/open/services/web`)).body.active_url
    expect(await attack('script', `${other}secret.js`)).toBe('the secret')
    expect(await attack('plain fetch', `${other}secret.js`)).toBe('nothing')
  })
})

test('an own page asks its box in each of these ways', async () => {
  await page.goto(url)
  for (const way of WAYS) {
    await attack(way, `${url}secret.js`)
    expect([way, await heardTargets()]).toEqual([way, expect.arrayContaining(['/secret.js'])])
  }
})

describe('a page of a session that has ended', () => {
  beforeEach(async () => {
    await beginSession()
    await page.goto(`${url}kept`)
    await page.waitForSelector('h1:text-is("GET /kept")')
  })

  const isForgotten = async (): Promise<boolean> => (await page.innerText('h1')) === 'Sign in'

  test('does not come back by Back from elsewhere', async () => {
    await page.goto(attacker)
    await client.delete(`/v1/tokens/${token.id}`)
    await page.goBack()
    expect(await isForgotten()).toBe(true)
  })

  test('does not come back by Back from the sign-in', async () => {
    await client.delete(`/v1/tokens/${token.id}`)
    await page.goto(`${url}other`)
    expect(await isForgotten()).toBe(true)
    await page.goBack()
    expect(await isForgotten()).toBe(true)
  })

  test('does not come back by Back from a sign-out', async () => {
    await page.goto(`${url}.boxyard/sign-out`)
    await page.goBack()
    expect(await isForgotten()).toBe(true)
  })
})
