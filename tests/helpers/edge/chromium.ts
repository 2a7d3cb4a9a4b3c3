import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, chromium, type LaunchOptions } from 'playwright-core'

/** A browser with its own home directory, which `end` deletes. */
export type LaunchedBrowser = Pick<Browser, 'newContext'> & { end(): Promise<void> }

/** Launches headless Debian Chromium. Adds `args` to the arguments that it needs here. */
export async function launchChromium(args: readonly string[], options: LaunchOptions = {}): Promise<LaunchedBrowser> {
  const home = mkdtempSync(join(tmpdir(), 'boxyard-browser-'))
  const executablePath = join(home, 'chromium')
  const launcher = join(import.meta.dirname, '../../fixtures/without-netlink.ts')
  const script = `#!/bin/sh\nexec '${process.execPath}' '${launcher}' /usr/bin/chromium "$@"\n`
  writeFileSync(executablePath, script, { mode: 0o755 })
  const end = async (browser?: Browser): Promise<void> => {
    await browser?.close()
    rmSync(home, { recursive: true, force: true })
  }
  try {
    const browser = await chromium.launch({
      ...options,
      executablePath,
      // Chromium's sandbox does not work for root, and tests run as root.
      args: ['--no-sandbox', ...args],
      env: { PATH: process.env['PATH'], HOME: home },
    })
    return { newContext: (given) => browser.newContext(given), end: () => end(browser) }
  } catch (error) {
    await end()
    throw error
  }
}
