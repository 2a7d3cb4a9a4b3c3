import { afterAll, beforeAll } from '@jest/globals'
import type { BrowserContext, Page, Request } from 'playwright-core'
import { addEvidence, type EvidenceSource, keepLastLines } from '../evidence.ts'
import { type LaunchedBrowser, launchChromium } from './chromium.ts'

/** A user with a browser without cookies, and one page in it. */
export interface BrowserUser {
  context: BrowserContext
  page: Page
  /** Violations of the Content-Security-Policy, and errors of scripts. */
  complaints: string[]
}

/**
 * Launches Debian's Chromium for the tests of the calling file; it resolves every host below `domain` to this machine. It takes any
 * certificate, or with `trust` as sound only that with this key, and pages are then kept for *Back* as users have it.
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
      // A machine with other work may take long over a page.
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

/** Returns what a failed test shows of an open browser: its pages with their text, requests without an answer, and the last refusals. */
function watchRequests(context: BrowserContext): EvidenceSource {
  const open = new Set<Request>()
  const refusals = keepLastLines('The last refusals that the browser got:')
  const tell = (request: Request): string => `${request.method()} ${request.url()}`
  context.on('request', (request) => open.add(request))
  context.on('requestfinished', (request) => open.delete(request))
  context.on('requestfailed', (request) => {
    open.delete(request)
    const cause = request.failure()?.errorText
    // A page ends its own requests.
    if (cause !== 'net::ERR_ABORTED') refusals.note(`${tell(request)} ${cause}`)
  })
  let isClosed = false
  context.on('close', () => (isClosed = true))
  context.on('response', (response) => {
    if (response.status() >= 400) refusals.note(`${tell(response.request())} ${response.status()}`)
  })
  return async () => {
    if (isClosed) return []
    const pages = context.pages().map(async (page) => {
      const text = await page.locator('body').innerText({ timeout: TEXT_MS })
      return `The browser shows ${page.url()}:\n${text.slice(0, SHOWN_CHARACTERS)}`
    })
    const waiting = [...open].map((request) => `No answer yet: ${tell(request)}`)
    return [...(await Promise.all(pages)), ...waiting, ...(await refusals.source())]
  }
}

const TEXT_MS = 3_000
const SHOWN_CHARACTERS = 2_000
