import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from '@jest/globals'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'

/** Somebody with a browser that knows no cookie yet, and one page in it. */
export interface BrowserUser {
  context: BrowserContext
  page: Page
  /** What pages were refused by their Content-Security-Policy, and scripts that failed. */
  complaints: string[]
}

/** Debian's Chromium for the tests of the file that calls it; it finds every host below `domain` on this machine. */
export function useBrowser(domain: string): { newUser(): Promise<BrowserUser> } {
  let home: string
  let browser: Browser | null = null
  let contexts: BrowserContext[] = []
  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'boxyard-browser-'))
    browser = await chromium.launch({
      executablePath: '/usr/bin/chromium',
      // Tests are root, for whom it has no sandbox.
      args: ['--no-sandbox', `--host-resolver-rules=MAP *.${domain} 127.0.0.1`],
      env: { PATH: process.env['PATH'], HOME: home },
    })
  }, 60_000)
  afterAll(async () => {
    await browser?.close()
    rmSync(home, { recursive: true, force: true })
  }, 60_000)
  return {
    newUser: async () => {
      if (browser === null) throw new Error('the browser has not started')
      await Promise.all(contexts.map((context) => context.close()))
      const context = await browser.newContext({ ignoreHTTPSErrors: true })
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
