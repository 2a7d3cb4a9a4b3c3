import { afterAll, beforeAll } from '@jest/globals'
import type { BrowserContext, Page } from 'playwright-core'
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
      const complaints: string[] = []
      context.on('console', (message) => {
        if (/content security policy/i.test(message.text())) complaints.push(message.text())
      })
      context.on('weberror', (error) => complaints.push(error.error().message))
      return { context, page: await context.newPage(), complaints }
    },
  }
}
