import { expect } from '@jest/globals'
import axeCore from 'axe-core'
import type { BrowserContext, Page } from 'playwright-core'
import { untilSucceeds } from '../eventually.ts'
import type { Client } from '../front/client.ts'

/** A page of the web console, and how a visitor finds the way in it. */
export interface ConsoleVisitor {
  page: Page
  /** Opens a path of the console, and waits until it has that heading. */
  open(path: string, heading: string): Promise<void>
  /** Waits until the page shows a text. */
  sees(text: string | RegExp): Promise<void>
  press(button: string): Promise<void>
  /** Returns what is on the screen of the open terminal. */
  screen(): Promise<string>
  /** Types a line into the open terminal once it is attached. */
  type(line: string): Promise<void>
}

/** Signs in by a link of the caller's token, and shows the overview. */
export async function signInByLink(page: Page, url: string, client: Client): Promise<ConsoleVisitor> {
  const { body } = await client.post('/v1/session/links')
  const visitor = visitorOf(page, url)
  await visitor.open(`/sign-in#${body.ticket}`, 'Overview')
  return visitor
}

/** Returns the visitor of a page of the service at `url`. */
export function visitorOf(page: Page, url: string): ConsoleVisitor {
  const sees = (text: string | RegExp): Promise<void> => page.getByText(text).first().waitFor()
  const screen = async (): Promise<string> => page.locator('.xterm-rows').innerText()
  return {
    page,
    // Playwright at times does not hear of `load` when the machine is busy.
    open: async (path, heading) => {
      await page.goto(`${url}${path}`, { waitUntil: 'commit' })
      await page.getByRole('heading', { name: heading, exact: true }).first().waitFor()
    },
    sees,
    press: (button) => page.getByRole('button', { name: button, exact: true }).click(),
    screen,
    type: async (line) => {
      await page.locator('[data-state="open"]').waitFor()
      await page.locator('.xterm-helper-textarea').focus()
      await page.keyboard.type(`${line}\n`)
    },
  }
}

/** Waits until the screen of a terminal has a text. */
export async function untilOnScreen({ screen }: ConsoleVisitor, text: string): Promise<void> {
  await untilSucceeds(async () => expect(await screen()).toContain(text))
}

/** Loads axe into every page of a context, past the policy of its pages. */
export async function loadAxe(context: BrowserContext): Promise<void> {
  await context.addInitScript(axeCore.source)
}

/** Returns what axe finds against WCAG 2.2 A and AA on the open page, as `rule: element`. */
export async function axeFindings(page: Page): Promise<string[]> {
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(options: unknown): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> }
    }
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']
    const { violations } = await axe.run({ runOnly: { type: 'tag', values: tags } })
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))
  })
}
