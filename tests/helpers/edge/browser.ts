import { afterAll, beforeAll } from '@jest/globals'
import type { BrowserContext, Page, Request } from 'playwright-core'
import { addEvidence, type EvidenceSource, keepLastLines } from '../evidence.ts'
import { type LaunchedBrowser, launchChromium } from './chromium.ts'

/** A user with one page in a browser without cookies. */
export interface BrowserUser {
  context: BrowserContext
  page: Page
  /** Violations of the Content-Security-Policy, and script errors. */
  complaints: string[]
}

/**
 * Launches Debian's Chromium for the tests of the calling file. It resolves every host below `domain` to this machine.
 * By default, it accepts any certificate. With `trust`, it ignores errors only of certificates with that key, and keeps the back/forward
 * cache that users have.
 */
export function useBrowser(
  domain: string,
  { trust }: { trust?: () => string } = {},
): { newUser(): Promise<BrowserUser> } {
  let browser: LaunchedBrowser | null = null
  let contexts: BrowserContext[] = []
  beforeAll(async () => {
    browser = await launchChromium(
      [
        `--host-resolver-rules=MAP *.${domain} 127.0.0.1`,
        ...(trust === undefined ? [] : [`--ignore-certificate-errors-spki-list=${trust()}`]),
      ],
      trust === undefined ? {} : { ignoreDefaultArgs: ['--disable-back-forward-cache'] },
    )
  })
  afterAll(() => browser?.end())
  return {
    newUser: async () => {
      if (browser === null) throw new Error('the browser has not started')
      await Promise.all(contexts.map((context) => context.close()))
      const context = await browser.newContext({ ignoreHTTPSErrors: trust === undefined })
      // A busy machine can take long to load a page.
      context.setDefaultTimeout(120_000)
      contexts = [context]
      addEvidence(watchRequests(context))
      const complaints: string[] = []
      context.on('console', (message) => {
        if (/content security policy/i.test(message.text())) complaints.push(message.text())
      })
      context.on('weberror', (error) => complaints.push(error.error().message))
      return { context, page: await context.newPage(), complaints }
    },
  }
}

/** Returns evidence about an open browser for a failed test. Shows the text of its pages, pending requests, and the last refusals. */
function watchRequests(context: BrowserContext): EvidenceSource {
  const open = new Set<Request>()
  const refusals = keepLastLines('The last refusals that the browser got:')
  const lineOf = (request: Request): string => `${request.method()} ${request.url()}`
  context.on('request', (request) => open.add(request))
  context.on('requestfinished', (request) => open.delete(request))
  context.on('requestfailed', (request) => {
    open.delete(request)
    const cause = request.failure()?.errorText
    // Pages cancel their own requests.
    if (cause !== 'net::ERR_ABORTED') refusals.note(`${lineOf(request)} ${cause}`)
  })
  let isClosed = false
  context.on('close', () => (isClosed = true))
  context.on('response', (response) => {
    if (response.status() >= 400) refusals.note(`${lineOf(response.request())} ${response.status()}`)
  })
  return async () => {
    if (isClosed) return []
    const pages = context.pages().map(async (page) => {
      const text = await page.locator('body').innerText({ timeout: TEXT_MS })
      return `The browser shows ${page.url()}:\n${text.slice(0, SHOWN_CHARACTERS)}`
    })
    const waiting = [...open].map((request) => `No answer yet: ${lineOf(request)}`)
    return [...(await Promise.all(pages)), ...waiting, ...(await refusals.source())]
  }
}

const TEXT_MS = 3_000
const SHOWN_CHARACTERS = 2_000
