import { describe, expect, test } from '@jest/globals'
import type { Locator } from 'playwright-core'
import { eventually } from '../../helpers/eventually.ts'
import { useOwnService } from '../../helpers/own-service.ts'
import { useConsole } from '../../helpers/web/visited-console.ts'
import { isFocused, untilOnScreen } from '../../helpers/web/visitor.ts'

const { client, user, visitor, changeBrowser } = useConsole(useOwnService())
const { button, dialog } = visitor
const YARD = '/v1/projects/yard'

const navigation = () => user.page.getByRole('navigation', { name: 'Pages' })

// First in this file, because it needs a service without boxes.
describe('the first minute', () => {
  test('leads from the sign-in link to a shell and a page at the URL in four clicks, without typing a name', async () => {
    let clicks = 0
    const press = async (target: Locator): Promise<void> => {
      clicks++
      await target.click()
    }
    await changeBrowser()
    const link = (await client.post('/v1/session/links')).body.ticket
    await visitor.open(`/sign-in#${link}`, 'Sign in to Boxyard')
    await press(user.page.getByRole('button', { name: /^Sign in as / }))
    const steps = user.page.getByRole('region', { name: 'First steps' })
    await press(steps.getByRole('link', { name: 'Create box' }))
    const name = dialog().getByLabel('Name', { exact: true })
    await eventually(() => isFocused(name))
    const suggested = await name.inputValue()
    expect(suggested).toMatch(/^[a-z]+-[a-z]+$/)
    await eventually(
      async () =>
        (await dialog().getByLabel('Project', { exact: true }).inputValue()) === 'demo' && button('Create').isEnabled(),
    )
    await press(button('Create and open terminal'))
    await user.page.waitForURL(`**/boxes/demo/${suggested}/terminal`)
    await dialog().waitFor({ state: 'detached' })
    await visitor.type('mkdir /srv/www; echo "hello from here" >/srv/www/index.html; httpd -p 8080 -h /srv/www')
    await visitor.type('echo in-$((40 + 2))')
    await untilOnScreen(visitor, 'in-42')
    const url = user.page.locator('a[href^="http"]').first()
    const [tab] = await Promise.all([user.context.waitForEvent('page'), press(url)])
    await tab.getByText('hello from here').waitFor()
    expect(tab.url()).toBe(await url.getAttribute('href'))
    expect(clicks).toBe(4)
    await client.delete(`/v1/projects/demo/boxes/${suggested}`)
  })
})

describe('a new box', () => {
  test('gets what its options say, by Ctrl-Enter', async () => {
    await client.post(`${YARD}/data`, { name: 'db', size_gb: 0.1 })
    await visitor.open('/boxes?create=box&project=yard', 'Create box')
    await dialog().getByLabel('Name', { exact: true }).fill('full')
    await dialog().getByText('More options').click()
    await dialog().getByLabel('Environment').fill('GREETING=hello\nOTHER=x')
    await dialog().getByLabel('Volumes').fill('db /var/db')
    await dialog().getByLabel('Sleep when idle, in minutes').fill('30')
    await dialog().getByLabel('Wake on request').check()
    await dialog().getByLabel('Tags').fill('team=a')
    await dialog().getByLabel('Tags').press('Control+Enter')
    await user.page.waitForURL('**/boxes/yard/full/terminal')
    await dialog().waitFor({ state: 'detached' })
    await visitor.type('echo $GREETING; ls -d /var/db')
    await untilOnScreen(visitor, 'hello')
    const { body } = await client.get(`${YARD}/boxes/full`)
    expect(body).toMatchObject({
      environment: { GREETING: 'hello', OTHER: 'x' },
      tags: { team: 'a' },
      url_settings: { wake: true, idle_stop_seconds: 1_800 },
      data_mounts: [{ name: 'db', path: '/var/db' }],
    })
  })

  test('says at its field which volume it cannot read, and opens the options for it', async () => {
    await visitor.open('/boxes?create=box&project=yard', 'Create box')
    await dialog().getByText('More options').click()
    await dialog().getByLabel('Volumes').fill('db')
    await button('Create').click()
    await dialog().getByRole('alert').getByText('"db" is not VOLUME /PATH.').waitFor()
    expect(await isFocused(dialog().getByLabel('Volumes'))).toBe(true)
  })
})

describe('a box', () => {
  test('shows its URL, services, volumes and last snapshot before its charts', async () => {
    const command = ['httpd', '-f', '-p', '3000', '-h', '/srv']
    await client.put(`${YARD}/boxes/full/services/site`, { command, port: 3000, readiness: { tcp: true } })
    await client.post(`${YARD}/boxes/full/snapshots`, { name: 'good' })
    await visitor.open('/boxes/yard/full', 'yard/full')
    const urls = user.page.getByRole('region', { name: 'URLs and services' })
    await urls.getByText('site', { exact: true }).waitFor()
    await urls.getByText('running').waitFor()
    await urls.getByText('Sleeps after 30 min without use. A request wakes it.').waitFor()
    await user.page.getByRole('region', { name: 'Volumes' }).getByRole('link', { name: 'db' }).waitFor()
    const snapshot = user.page.getByRole('region', { name: 'Last snapshot' })
    await snapshot.getByText('good').waitFor()
    const [last, chart] = [await snapshot.boundingBox(), await user.page.locator('figure').first().boundingBox()]
    expect((last?.y ?? 0) + (last?.height ?? 0)).toBeLessThan(chart?.y ?? 0)
    await user.page.getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link', { name: 'yard' }).click()
    await user.page.waitForURL('**/boxes?project=yard')
  })

  test('opens on its terminal from the list, and is stopped and started in its row', async () => {
    await visitor.open('/boxes', 'Boxes')
    const row = user.page.getByRole('row', { name: /yard\/full/ })
    await row.getByRole('button', { name: 'Stop', exact: true }).click()
    await row.getByText('stopped').waitFor()
    await row.getByRole('button', { name: 'Start', exact: true }).click()
    await row.getByText('running').waitFor()
    await row.getByRole('link', { name: 'yard/full' }).click()
    await user.page.waitForURL('**/boxes/yard/full/terminal')
  })
})

describe('the palette', () => {
  test('acts on the open box, by letters that are not beside each other', async () => {
    await visitor.open('/boxes/yard/full', 'yard/full')
    await user.page.keyboard.press('Control+k')
    await user.page.getByRole('combobox').fill('stpfull')
    await user.page.getByRole('option', { name: /^Stop yard\/full/ }).waitFor()
    await user.page.keyboard.press('Enter')
    await button('Start').waitFor()
    await user.page.keyboard.press('Control+k')
    await user.page.getByRole('combobox').fill('theme dark')
    await user.page.keyboard.press('Enter')
    await user.page.getByRole('button', { name: 'Theme: dark' }).waitFor()
  })
})

describe('keys', () => {
  test('of a single letter lead on, are listed by ?, and can be turned off', async () => {
    await user.page.keyboard.press('g')
    await user.page.keyboard.press('b')
    await user.page.getByRole('heading', { level: 1, name: 'Boxes' }).waitFor()
    const filter = user.page.getByLabel('Name, tag or base')
    await filter.waitFor()
    await user.page.keyboard.press('/')
    await eventually(() => isFocused(filter))
    // A focused field receives letters itself.
    await user.page.keyboard.press('c')
    expect(await dialog().count()).toBe(0)
    await user.page.getByRole('heading', { level: 1, name: 'Boxes' }).focus()
    await user.page.keyboard.press('?')
    await dialog().getByText('Keyboard shortcuts').waitFor()
    await dialog().getByLabel('Use single-letter shortcuts').uncheck()
    await user.page.keyboard.press('Escape')
    await dialog().waitFor({ state: 'detached' })
    await user.page.keyboard.press('?')
    expect(await dialog().count()).toBe(0)
  })
})

describe('the project switcher', () => {
  test('keeps all lists to one project until it is set back', async () => {
    await client.post('/v1/projects/other/data', { name: 'elsewhere', size_gb: 0.1 })
    await visitor.open('/boxes', 'Boxes')
    const switchTo = async (name: string): Promise<void> => {
      await user.page.getByRole('button', { name: /^Switch project/ }).click()
      await user.page.getByRole('list', { name: 'Projects' }).getByRole('link', { name, exact: true }).click()
    }
    await switchTo('yard')
    await user.page.waitForURL('**/boxes?project=yard')
    await navigation().getByRole('link', { name: 'Volumes' }).click()
    await user.page.getByRole('link', { name: 'yard/db' }).waitFor()
    expect(await user.page.getByRole('link', { name: 'other/elsewhere' }).count()).toBe(0)
    await switchTo('All projects')
    await user.page.getByRole('link', { name: 'other/elsewhere' }).waitFor()
  })
})

describe('the fonts', () => {
  test('come from the console itself, and take no more than 120 KB', async () => {
    await visitor.open('/boxes/yard/full', 'yard/full')
    const fonts = `performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('.woff2'))
      .map(({ name, decodedBodySize }) => ({ origin: new URL(name).origin, bytes: decodedBodySize }))`
    const loaded = (): Promise<{ origin: string; bytes: number }[]> => user.page.evaluate(fonts)
    await eventually(async () => (await loaded()).length >= 2)
    const found = await loaded()
    expect(new Set(found.map(({ origin }) => origin))).toEqual(new Set([new URL(user.page.url()).origin]))
    expect(found.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(120_000)
    for (const font of ['14px "Inter Variable"', '13px "JetBrains Mono Variable"'])
      expect(await user.page.evaluate(`document.fonts.check('${font}')`)).toBe(true)
  })
})
