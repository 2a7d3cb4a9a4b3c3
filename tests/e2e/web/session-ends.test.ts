import { beforeAll, describe, expect, test } from '@jest/globals'
import type { Page } from 'playwright-core'
import { eventually } from '../../helpers/eventually.ts'
import { useSharedService } from '../../helpers/own-service.ts'
import { useConsole } from '../../helpers/web/visited-console.ts'
import { untilOnScreen, visitorOf } from '../../helpers/web/visitor.ts'

const { client, service, user, visitor, changeBrowser } = useConsole(useSharedService())
const { button, dialog } = visitor
const REVOKED = 'Your session, or the token that you signed in with, was revoked.'

beforeAll(async () => {
  await client.post('/v1/projects/yard/boxes', { name: 'one' })
})

/** Signs in to another browser with a new token. Returns the token's id and a second tab, which shows the boxes. */
async function signInTwice(life: { expires_in_seconds?: number } = {}): Promise<{ id: string; second: Page }> {
  const permissions = ['read', 'write', 'exec']
  const { body } = await client.post('/v1/tokens', { name: 'guest', projects: ['yard'], permissions, ...life })
  const made = await client.post('/v1/session/links', undefined, { token: body.token })
  await changeBrowser()
  await visitor.signInBy(made.body.ticket)
  const second = await user.context.newPage()
  await visitorOf({ page: second }, service).open('/boxes', 'Boxes')
  return { id: body.id, second }
}

/** Checks that both tabs show the sign-in page with a reason. */
async function expectReasons(second: Page, ...[first, other]: [first: string, other?: string]): Promise<void> {
  for (const [page, reason] of [
    [user.page, first],
    [second, other ?? first],
  ] as const) {
    await page.getByRole('heading', { name: 'Sign in to Boxyard' }).waitFor()
    await page.getByText(reason, { exact: true }).waitFor()
    expect(await page.getByRole('status').allInnerTexts()).toEqual([reason])
  }
}

describe('a session', () => {
  test('that has expired says so in every tab, whichever hears of it', async () => {
    const { second } = await signInTwice({ expires_in_seconds: 45 })
    await visitor.open('/boxes/yard/one/terminal', 'yard/one')
    await visitor.type('echo here')
    await untilOnScreen(visitor, 'here')
    await expectReasons(second, 'Your session has expired.')
  })

  test('that was revoked says so, and a sign-out in another tab is that, not a revocation', async () => {
    const { id, second } = await signInTwice()
    await client.delete(`/v1/tokens/${id}`)
    await expectReasons(second, REVOKED)
    const { second: other } = await signInTwice()
    await visitor.open('/boxes', 'Boxes')
    await button('Sign out').click()
    await other.getByText('You signed out in another tab.', { exact: true }).waitFor()
    await user.page.getByRole('heading', { name: 'Sign in to Boxyard' }).waitFor()
    expect(await user.page.getByRole('status').count()).toBe(0)
  })

  test('that this browser forgot, lost the cookie of, or deleted the data of, says which', async () => {
    const { second } = await signInTwice()
    await user.page.route('**/v1/session', (route) => route.abort())
    await button('Sign out').click()
    await button('Forget session here').click()
    await second.getByText('You made this browser forget the session in another tab.').waitFor()

    const { second: without } = await signInTwice()
    await user.context.clearCookies()
    await visitor.open('/boxes', 'Sign in to Boxyard')
    const lost = /^Boxyard does not accept this session: .*cookie/
    await user.page.getByText(lost).waitFor()
    await without.getByText(lost).waitFor()

    const { second: emptied } = await signInTwice()
    await emptied.evaluate('localStorage.clear()')
    const deleted = 'This browser has deleted its data of Boxyard, and the session with it.'
    await user.page.getByText(deleted).waitFor()
    await emptied.getByRole('link', { name: 'Volumes', exact: true }).click()
    await emptied.getByText(deleted).waitFor()
  })

  test('that ends before a text is saved says so, and the text is saved in the next one', async () => {
    await client.shell('yard', 'one', 'echo first > /srv/note')
    const { id, second } = await signInTwice()
    await visitor.open('/boxes/yard/one/files?path=%2Fsrv%2Fnote', 'yard/one')
    const text = user.page.getByLabel('Text of the file')
    await text.fill('mine\n')
    await client.delete(`/v1/tokens/${id}`)
    await user.page.getByRole('heading', { name: 'Your session has ended. Leave /srv/note without saving?' }).waitFor()
    await dialog().getByText(REVOKED).waitFor()
    await button('Cancel').click()
    const { body } = await client.post('/v1/session/links')
    await visitorOf({ page: second }, service).signInBy(body.ticket)
    await button('Save').click()
    await eventually(async () => (await client.shell('yard', 'one', 'cat /srv/note')).body.stdout === 'mine\n')
    expect(await dialog().count()).toBe(0)
    expect(await text.inputValue()).toBe('mine\n')
  })
})

describe('a service that cannot be reached', () => {
  test('is told of in our words, wherever that is', async () => {
    const RAW = /Failed to fetch|NetworkError|Load failed|network error|WebSocket|http:\/\/\d|ws:\/\//
    await visitor.open('/boxes/yard/one', 'yard/one')
    await button('More actions for one').waitFor()
    await user.page.route('**/v1/**', (route) => route.abort())
    for (const [part, path] of [
      ['Terminal', 'terminal'],
      ['Files', 'files'],
      ['Commands', 'commands'],
    ] as const) {
      await user.page.getByRole('link', { name: part, exact: true }).click()
      await user.page.waitForURL(new RegExp(`/${path}`))
      await user.page
        .getByText(/^Boxyard cannot be reached\./)
        .first()
        .waitFor()
      expect(await user.page.locator('body').innerText()).not.toMatch(RAW)
    }
    await user.context.setOffline(true)
    await visitor.choose('one', 'Settings')
    await dialog().getByRole('button', { name: 'Save' }).click()
    await dialog().getByRole('alert').getByText('This device is offline.').first().waitFor()
    expect(await user.page.locator('body').innerText()).not.toMatch(RAW)
  })
})
