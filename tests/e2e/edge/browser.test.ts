import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Page } from 'playwright-core'
import { type BrowserUser, useBrowser } from '../../helpers/edge/browser.ts'
import { encryptDomain } from '../../helpers/edge/certificates.ts'
import { makeSites, SITES, takeHeard as takeHeardAt } from '../../helpers/edge/sites.ts'
import { eventually } from '../../helpers/eventually.ts'
import { useOwnService } from '../../helpers/own-service.ts'

const DOMAIN = 'boxes.test'
const { client, service } = useOwnService()
const { newUser } = useBrowser(DOMAIN)
const boxes = SITES
const takeHeard = (): Promise<string> => takeHeardAt(client, 'private')

beforeAll(async () => {
  await makeSites(client, { private: 'token', open: 'public' })
})

let user: BrowserUser
let page: Page
let token: { id: string; token: string }
/** URLs of the private box, of its service, and of the public box. */
let [url, otherUrl, publicUrl] = ['', '', '']

beforeEach(async () => {
  url = (await client.get(`${boxes}/private`)).body.url
  otherUrl = (await client.get(`${boxes}/private/services/web`)).body.active_url
  publicUrl = (await client.get(`${boxes}/open`)).body.url
  token = (await client.post('/v1/tokens', { name: 'v', projects: ['browser'], permissions: ['read'] })).body
  user = await newUser()
  page = user.page
  await takeHeard()
})
afterEach(async () => {
  expect(user.complaints).toEqual([])
})

/** Returns true if the open page is the sign-in form. */
async function isAsked(): Promise<boolean> {
  const { hostname } = new URL(page.url())
  return hostname === `sign-in.${new URL(url).hostname.replace(/^[^.]*\./, '')}` && (await heading()) === 'Sign in'
}

async function heading(): Promise<string> {
  return page.innerText('h1')
}

async function show(secret: string): Promise<void> {
  await page.getByLabel('Access token').fill(secret)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

/** Waits until another page has loaded, by its own state. On a busy machine Playwright sometimes misses `load`. */
async function arriveAt(address: string): Promise<void> {
  await page.waitForURL(address, { waitUntil: 'commit' })
  await page.waitForFunction('document.readyState === "complete"')
}

async function signIn(address = url): Promise<void> {
  await page.goto(address)
  expect(await isAsked()).toBe(true)
  await show(token.token)
  await arriveAt(address)
}

describe('a session of a browser', () => {
  test('is valid for its host only', async () => {
    await signIn()
    await signIn(otherUrl)
    expect(await heading()).toBe('GET /')
  })

  test('ends with its token, for pages and their fetches', async () => {
    await signIn()
    expect((await client.delete(`/v1/tokens/${token.id}`)).status).toBe(204)
    const fetched = await page.evaluate(async () => {
      const answer = await fetch('/told')
      return [answer.status, answer.headers.get('content-type'), answer.redirected]
    })
    expect(fetched).toEqual([401, 'application/problem+json', false])
    expect(await page.evaluate(openSocket, '/socket')).toBe('refused')
    await page.goto(url)
    expect(await isAsked()).toBe(true)
  })

  test('ends by a sign-out, but not by one that another page requests', async () => {
    await signIn()
    await page.goto(publicUrl)
    await page.setContent(`<a href="${url}.boxyard/sign-out">Out</a>`)
    await page.getByRole('link').click()
    await arriveAt(`${url}.boxyard/sign-out`)
    expect(await heading()).toBe('Sign out')
    await page.goto(url)
    expect(await heading()).toBe('GET /')
    await page.goBack()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForSelector('h1:text-is("Signed out")')
    await page.goto(url)
    expect(await isAsked()).toBe(true)
  })

  test('is begun once by the redirect of a sign-in, in this browser only', async () => {
    const begun = page.waitForRequest(/\/\.boxyard\/session\?code=/)
    await signIn()
    const address = (await begun).url()
    await page.goBack()
    await page.goForward()
    expect(await heading()).toBe('GET /')
    await user.context.clearCookies()
    expect((await page.goto(address))?.status()).toBe(401)
    const other = await newUser()
    expect((await other.page.goto(address))?.status()).toBe(401)
    await other.page.goto(url)
    expect(new URL(other.page.url()).hostname).toMatch(/^sign-in\./)
  })
})

test('no page of another origin shows the sign-in in a frame', async () => {
  await page.goto(publicUrl)
  await page.setContent(`<iframe src="${url}"></iframe>`, { waitUntil: 'commit' })
  await eventually(() => page.frames()[1]?.url().startsWith('chrome-error:') === true)
  // Chromium logs this like any other policy violation.
  await eventually(() => user.complaints.length > 0)
  expect(user.complaints.splice(0).join()).toContain("frame-ancestors 'none'")
})

/** HTTP at localhost, and HTTPS at a domain where all box hosts are same-site. */
const ways = [
  { way: 'HTTP', settings: null, refusal: 'Token missing' },
  { way: 'HTTPS', settings: encrypted, refusal: 'A page of another origin cannot do this in your session.' },
]

describe.each(ways)('a private URL over $way', ({ way, settings, refusal }) => {
  beforeAll(async () => {
    if (settings === null) return
    await service().killAgent('SIGTERM')
    await service().startAgent(settings())
  })

  test('asks people for a token, explains a wrong one, and redirects to the requested page', async () => {
    const [asked, shown] = [`${url}some/page?a=b&c=%2F%22x`, 'GET /some/page?a=b&c=%2F%22x']
    await page.goto(asked)
    expect([await isAsked(), new URL(page.url()).protocol]).toEqual([true, `${way.toLowerCase()}:`])
    await show(`${token.token}x`)
    await page.waitForSelector('[role=alert]')
    expect([await isAsked(), await takeHeard()]).toEqual([true, ''])
    await show(token.token)
    await arriveAt(asked)
    expect(await heading()).toBe(shown)
    await page.reload()
    expect(await heading()).toBe(shown)
  })

  test('takes fetches, posts, event streams and WebSockets of its own page', async () => {
    await signIn()
    expect(await page.evaluate(async () => (await fetch('/told')).text())).toContain('GET /told')
    const post = async (): Promise<string> => (await fetch('/told', { method: 'POST', body: 'a=b' })).text()
    expect(await page.evaluate(post)).toContain('POST /told')
    expect(await page.evaluate(hearEvents)).toEqual(['1', '2', '3'])
    expect(await page.evaluate(openSocket, '/socket')).toBe('hello')
  })

  test('shows the session neither to scripts nor to the box, nor the box the token', async () => {
    await signIn()
    await page.evaluate('document.cookie = "own=1"')
    await page.reload()
    expect(await page.evaluate('document.cookie')).toBe('own=1')
    const cookies = (await user.context.cookies()).filter(({ name }) => name !== 'own')
    const { hostname } = new URL(url)
    expect(cookies).toMatchObject([
      { name: '__Host-boxyard', domain: hostname, path: '/', httpOnly: true, secure: true, sameSite: 'Lax' },
    ])
    await page.evaluate(openSocket, '/socket')
    const heard = await takeHeard()
    expect(heard).toContain('cookie: own=1')
    expect(heard).toContain('GET /socket')
    for (const secret of ['boxyard=', 'authorization', token.token, cookies[0]?.value ?? token.token])
      expect(heard).not.toContain(secret)
  })

  test('refuses requests that pages of other origins send with the session', async () => {
    await signIn()
    await page.goto(publicUrl)
    const asked = { url: `${url}read`, mode: 'cors', method: 'GET' } as const
    expect(await page.evaluate(fetchForeign, asked)).toBe('refused')
    for (const mode of ['cors', 'no-cors'] as const)
      expect(await page.evaluate(fetchForeign, { url, mode, method: 'POST' })).not.toBe('readable')
    expect(await page.evaluate(openSocket, `${url.replace('http', 'ws')}socket`)).toBe('refused')
    await page.setContent(`<form action="${url}" method="post"><button>Go</button></form>`)
    await page.getByRole('button').click()
    await arriveAt(url)
    expect(await page.innerText('body')).toContain(refusal)
    expect(await takeHeard()).not.toMatch(/^(POST|GET \/socket)/m)
  })
})

/** Returns settings of an edge with HTTPS. */
function encrypted(): Record<string, string> {
  return encryptDomain(service().dataDir, DOMAIN).settings
}

// Functions that run in the browser.

function hearEvents(): Promise<string[]> {
  return new Promise((resolve) => {
    const source = new EventSource('/events')
    const heard: string[] = []
    source.onmessage = ({ data }) => void heard.push(data)
    source.onerror = () => {
      source.close()
      resolve(heard)
    }
  })
}

function openSocket(url: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = new WebSocket(url)
    socket.onmessage = ({ data }) => {
      socket.close()
      resolve(data)
    }
    socket.onerror = () => resolve('refused')
  })
}

async function fetchForeign({
  url,
  mode,
  method,
}: {
  url: string
  mode: 'cors' | 'no-cors'
  method: string
}): Promise<string> {
  const options = { method, mode, credentials: 'include' } as const
  try {
    const answer = await fetch(url, options)
    return answer.type === 'opaque' ? 'opaque' : 'readable'
  } catch {
    return 'refused'
  }
}
