import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Locator } from 'playwright-core'
import { type BrowserUser, useBrowser } from '../../helpers/edge/browser.ts'
import { eventually } from '../../helpers/eventually.ts'
import { useConsole } from '../../helpers/web/own-console.ts'
import { type ConsoleVisitor, signInByLink } from '../../helpers/web/visitor.ts'

const { client, service } = useConsole()
const { newUser } = useBrowser('localhost')

let user: BrowserUser
let visitor: ConsoleVisitor

beforeAll(async () => {
  await client.post('/v1/projects/yard/boxes', { name: 'one' })
})

beforeEach(async () => {
  user = await newUser()
  visitor = await signInByLink(user.page, service().url, client)
})

afterEach(() => {
  expect(user.complaints).toEqual([])
})

const button = (name: string | RegExp): Locator => user.page.getByRole('button', { name, exact: true })
/** Lets the page read anew what it shows, as after a lost network. */
const readAnew = (): Promise<unknown> =>
  user.page.evaluate("dispatchEvent(new Event('offline')); dispatchEvent(new Event('online'))")

describe('an editor with a text that is not saved', () => {
  test.each([
    ['no text', String.raw`printf '\377\376' > /srv/note`, 'This file is not text'],
    ['too large to be shown', 'head -c 1100000 /dev/zero > /srv/note', 'This file is too large to be shown'],
    ['a symlink', 'rm /srv/note; ln -s /etc/hosts /srv/note', 'This is a link to'],
  ])('stays when the file is %s now, and that is told', async (words, change, after) => {
    await client.shell('yard', 'one', 'rm -f /srv/note; echo first > /srv/note')
    await visitor.open('/boxes/yard/one/files?path=%2Fsrv%2Fnote', 'yard/one')
    const text = user.page.getByLabel('Text of the file')
    await text.fill('mine\n')
    await client.shell('yard', 'one', change)
    await readAnew()
    await visitor.sees(`it is ${words} now`)
    expect(await text.inputValue()).toBe('mine\n')
    await button('Save').click()
    await user.page.getByRole('heading', { name: 'The file has changed' }).waitFor()
    await button('Read it anew, without my changes').click()
    await visitor.sees(after)
    expect(await text.count()).toBe(0)
  })
})
