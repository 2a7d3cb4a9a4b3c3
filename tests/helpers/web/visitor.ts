import axeCore from 'axe-core'
import type { BrowserContext, Locator, Page } from 'playwright-core'
import { eventually } from '../eventually.ts'

/** Navigates and operates a page of the web console. */
export interface ConsoleVisitor {
  /** Opens a path of the console, and waits for the heading. */
  open(path: string, heading: string): Promise<void>
  /** Opens a sign-in link, and signs in as the user that the link names. */
  signInBy(ticket: string): Promise<void>
  /** Waits until the page shows a text. */
  sees(text: string | RegExp): Promise<void>
  /** Returns the button with exactly this name, or the one that matches a pattern. */
  button(name: string | RegExp): Locator
  press(button: string): Promise<void>
  /** Chooses an action from the menu of the box whose page is open. */
  choose(box: string, action: string): Promise<void>
  dialog(): Locator
  /** Returns the text on the screen of the open terminal. */
  screen(): Promise<string>
  /** Types a line into the open terminal once it has attached. */
  type(line: string): Promise<void>
}

/** Returns a visitor for the console that `service` serves. Each step uses the current page of `user`. */
export function visitorOf(user: { readonly page: Page }, service: () => { url: string }): ConsoleVisitor {
  const button = (name: string | RegExp): Locator => user.page.getByRole('button', { name, exact: true })
  // On a busy machine, Playwright sometimes misses `load`.
  const open: ConsoleVisitor['open'] = async (path, heading) => {
    await user.page.goto(`${service().url}${path}`, { waitUntil: 'commit' })
    // The heading of a pending page has no content below it yet.
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

/** Returns true if an element has the focus. */
export async function isFocused(element: Locator): Promise<boolean> {
  return (await element.and(element.page().locator(':focus')).count()) > 0
}

/** Waits until the screen of a terminal contains a text. */
export async function untilOnScreen({ screen }: ConsoleVisitor, text: string): Promise<void> {
  await eventually(async () => (await screen()).includes(text))
}

/** Loads axe into every page of a context, despite the pages' content security policy. */
export async function loadAxe(context: BrowserContext): Promise<void> {
  await context.addInitScript(axeCore.source)
}

/** Returns axe's violations of WCAG 2.2 A and AA on the open page, as `rule: element`. */
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
