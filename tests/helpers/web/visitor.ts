import axeCore from 'axe-core'
import type { BrowserContext, Locator, Page } from 'playwright-core'
import { eventually } from '../eventually.ts'

/** How a visitor finds the way in a page of the web console. */
export interface ConsoleVisitor {
  /** Opens a path of the console, and waits until it has that heading. */
  open(path: string, heading: string): Promise<void>
  /** Opens a sign-in link, and signs in by it as whom it names. */
  signInBy(ticket: string): Promise<void>
  /** Waits until the page shows a text. */
  sees(text: string | RegExp): Promise<void>
  /** Returns the button of exactly this name, or of one that matches. */
  button(name: string | RegExp): Locator
  press(button: string): Promise<void>
  /** Chooses what is done more rarely with the box whose page is open. */
  choose(box: string, action: string): Promise<void>
  dialog(): Locator
  /** Returns what is on the screen of the open terminal. */
  screen(): Promise<string>
  /** Types a line into the open terminal once it is attached. */
  type(line: string): Promise<void>
}

/** Returns the visitor of the page that `user` has at each step, of the console that `service` serves. */
export function visitorOf(user: { readonly page: Page }, service: () => { url: string }): ConsoleVisitor {
  const button = (name: string | RegExp): Locator => user.page.getByRole('button', { name, exact: true })
  // Playwright at times does not hear of `load` when the machine is busy.
  const open: ConsoleVisitor['open'] = async (path, heading) => {
    await user.page.goto(`${service().url}${path}`, { waitUntil: 'commit' })
    // That of a page on its way has nothing below it yet.
    const isThere = user.page.locator(':not([data-pending])')
    await user.page.getByRole('heading', { name: heading, exact: true }).and(isThere).first().waitFor()
  }
  return {
    open,
    signInBy: async (ticket) => {
      await open(`/sign-in#${ticket}`, 'Sign in to Boxyard')
      await user.page.getByRole('button', { name: /^Sign in as / }).click()
      await user.page.getByRole('heading', { name: 'Overview', exact: true }).first().waitFor()
    },
    sees: (text) => user.page.getByText(text).first().waitFor(),
    button,
    press: (name) => button(name).click(),
    choose: async (box, action) => {
      await button(`More actions for ${box}`).click()
      await user.page.getByRole('menuitem', { name: action, exact: true }).click()
    },
    dialog: () => user.page.getByRole('dialog'),
    screen: () => user.page.locator('.xterm-rows').innerText(),
    type: async (line) => {
      await user.page.locator('[data-state="open"]').waitFor()
      await user.page.locator('.xterm-helper-textarea').focus()
      await user.page.keyboard.type(`${line}\n`)
    },
  }
}

/** Tells whether an element has the focus. */
export async function isFocused(element: Locator): Promise<boolean> {
  return (await element.and(element.page().locator(':focus')).count()) > 0
}

/** Waits until the screen of a terminal has a text. */
export async function untilOnScreen({ screen }: ConsoleVisitor, text: string): Promise<void> {
  await eventually(async () => (await screen()).includes(text))
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
