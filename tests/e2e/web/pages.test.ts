import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { ROOT } from '../../../infra/commands.ts'
import { eventually, untilSucceeds } from '../../helpers/eventually.ts'
import { useSharedService } from '../../helpers/own-service.ts'
import { useConsole } from '../../helpers/web/visited-console.ts'
import { axeFindings, isFocused, loadAxe } from '../../helpers/web/visitor.ts'

const { client, service, user, visitor } = useConsole(useSharedService())
const { button, dialog } = visitor
const YARD = '/v1/projects/yard'
/** Output directory for a screenshot of every page. */
const PICTURES = join(ROOT, '.build/screenshots')

const PAGES: readonly [path: string, heading: string][] = [
  ['/', 'Overview'],
  ['/boxes', 'Boxes'],
  ['/boxes?create=box', 'Create box'],
  ['/boxes/yard/one', 'yard/one'],
  ['/boxes/yard/one/terminal', 'yard/one'],
  ['/boxes/yard/one/files?path=%2Fsrv', 'yard/one'],
  ['/boxes/yard/one/files?path=%2Fsrv%2Fapp', 'yard/one'],
  ['/boxes/yard/one/snapshots', 'Timeline'],
  ['/boxes/yard/one/snapshots?from=good&to=live', 'Changes from'],
  ['/boxes/yard/one/snapshots?from=good&to=live&file=%2Fsrv%2Fapp', '/srv/app'],
  ['/boxes/yard/one/commands', 'Run a command'],
  ['/boxes/yard/one/services', 'Services'],
  ['/boxes/yard/one/services?service=site', 'Domains'],
  ['/boxes/yard/one/activity', 'yard/one'],
  ['/boxes/yard/one/connect', 'SSH'],
  ['/volumes', 'Volumes'],
  ['/volumes/yard/db', 'yard/db'],
  ['/bases', 'Bases'],
  ['/bases?dialog=make&of=archive', 'Create base'],
  ['/projects', 'Projects'],
  ['/activity', 'Activity'],
  ['/storage', 'Storage'],
  ['/tokens', 'Tokens'],
  ['/tokens?dialog=create', 'Create token'],
  ['/audit', 'Audit'],
  ['/settings', 'Settings'],
  ['/no/such/page', 'Page not found'],
]

beforeAll(async () => {
  mkdirSync(PICTURES, { recursive: true })
  const box = `${YARD}/boxes/one`
  await client.post(`${YARD}/boxes`, { name: 'one', tags: { team: 'a' } })
  await client.shell('yard', 'one', 'echo v1 > /srv/app; echo gone > /srv/old')
  await client.post(`${box}/snapshots`, { name: 'good', comment: 'before the change' })
  await client.shell('yard', 'one', 'echo v2 > /srv/app; rm /srv/old; echo new > /srv/new')
  await client.post(`${YARD}/data`, { name: 'db', size_gb: 0.1 })
  await client.post(`${YARD}/data/db/attach`, { box: 'one', path: '/var/db' })
  await client.post(`${YARD}/data/db/snapshots`, { name: 'first' })
  const command = ['httpd', '-f', '-p', '3000', '-h', '/srv']
  await client.put(`${box}/services/site`, { command, port: 3000, readiness: { tcp: true } })
  await eventually(async () => (await client.get(`${box}/services/site`)).body.state === 'running')
})

test.each(['light', 'dark', 'phone'] as const)(
  'axe finds nothing on any page, nothing is wider than the screen: %s',
  async (look) => {
    await loadAxe(user.context)
    await user.page.emulateMedia({ colorScheme: look === 'dark' ? 'dark' : 'light', reducedMotion: 'reduce' })
    await user.page.setViewportSize(look === 'phone' ? { width: 390, height: 844 } : { width: 1280, height: 800 })
    for (const [path, heading] of PAGES) {
      await visitor.open(path, heading)
      await eventually(
        async () => (await user.page.getByText(/^(Loading|Reading|Comparing|Connecting)…$/).count()) === 0,
      )
      const name = `${look}${path.replaceAll(/[^a-z0-9]+/g, '-')}`
      await user.page.screenshot({ path: join(PICTURES, `${name}.png`), animations: 'disabled' })
      const found = await axeFindings(user.page)
      const excess = await user.page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
      expect({ path, found, excess }).toEqual({ path, found: [], excess: expect.any(Number) })
      expect({ path, isWider: excess > 0 }).toEqual({ path, isWider: false })
    }
  },
)

describe('a dialog', () => {
  test.each([
    ['/boxes?create=box', 'Name'],
    ['/tokens?dialog=create', 'Name'],
    ['/bases?dialog=make', 'Name'],
    ['/projects?quota=yard', 'Boxes'],
  ])(
    'has the focus where it begins, its buttons in sight on a small screen, and says what is wrong: %s',
    async (path, first) => {
      await user.page.setViewportSize({ width: 390, height: 600 })
      await user.page.goto(`${service().url}${path}`, { waitUntil: 'commit' })
      const field = dialog().getByLabel(first, { exact: true })
      await eventually(() => isFocused(field))
      for (const end of [0, 10_000]) {
        await user.page.evaluate(`document.querySelector('.dialog-body').scrollTo(0, ${end})`)
        const frame = await dialog().getByRole('button', { name: 'Cancel' }).boundingBox()
        expect((frame?.y ?? 600) + (frame?.height ?? 0)).toBeLessThan(600)
        await dialog().getByRole('button', { name: 'Cancel' }).click({ trial: true })
      }
      await field.fill(first === 'Name' ? 'No name' : '-1')
      await user.page.keyboard.press('Enter')
      const words = first === 'Name' ? /^It must be 1–63 of a–z, 0–9 and single hyphens/ : 'It must be at least 0.'
      const refusal = dialog().getByRole('alert').filter({ hasText: words })
      await refusal.waitFor()
      expect(await isFocused(field)).toBe(true)
      expect(await field.getAttribute('aria-describedby')).toBe(await refusal.getAttribute('id'))
      await field.fill(first === 'Name' ? 'a-name' : '1')
      await refusal.waitFor({ state: 'detached' })
    },
  )

  test('begins at what must be filled, and at the way out where nothing is', async () => {
    await visitor.open('/boxes/yard/one/services', 'yard/one')
    await button('Add service').first().click()
    await eventually(() => isFocused(dialog().getByLabel('Name', { exact: true })))
    await user.page.keyboard.press('Escape')
    await visitor.open('/boxes/yard/one/snapshots', 'yard/one')
    await button('Take snapshot').first().click()
    await eventually(() => isFocused(dialog().getByLabel('Name', { exact: true })))
    await user.page.keyboard.press('Escape')
    await visitor.open('/volumes/yard/db', 'yard/db')
    await button('Delete first').click()
    await eventually(() => isFocused(dialog().getByRole('button', { name: 'Cancel' })))
  })
})

/** A name of the maximum length. */
const LONG = `team-${'long-'.repeat(11)}xyz`

describe('a list', () => {
  beforeAll(async () => {
    const tags = { env: 'a-b-c', owner: 'some-long-name-of-a-team', third: 'x', fourth: 'y' }
    await client.post(`/v1/projects/${LONG}/boxes`, { name: 'short', tags })
    await client.post(`/v1/projects/${LONG}/boxes`, { name: `box-${'x'.repeat(59)}` })
    await client.post(`/v1/projects/${LONG}/data`, { name: 'volume', size_gb: 0.1 })
    await client.post('/v1/tokens', { name: 'long', projects: [LONG], permissions: ['read'] })
  })

  test.each([390, 1440])('with long names is no wider than a screen of %d pixels', async (width) => {
    await user.page.setViewportSize({ width, height: 844 })
    const lists = ['Boxes', 'Volumes', 'Bases', 'Projects', 'Activity', 'Tokens', 'Audit']
    for (const heading of ['Overview', ...lists]) {
      await visitor.open(heading === 'Overview' ? '/' : `/${heading.toLowerCase()}`, heading)
      await eventually(async () => (await user.page.getByText('Loading…').count()) === 0)
      const excess = await user.page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
      expect({ heading, isWider: excess > 0 }).toEqual({ heading, isWider: false })
    }
    await visitor.open('/boxes', 'Boxes')
    const link = user.page.getByRole('link', { name: `${LONG}/short`, exact: true })
    expect(await link.getAttribute('title')).toBe(`${LONG}/short`)
    const [cell, name] = [await link.boundingBox(), await link.getByText('short', { exact: true }).boundingBox()]
    expect(name?.width ?? 0).toBeGreaterThan(20)
    expect((name?.x ?? 0) + (name?.width ?? 0)).toBeLessThanOrEqual((cell?.x ?? 0) + (cell?.width ?? 0) + 1)
  })

  test('shows the first tags in one line, and the number of the others', async () => {
    await user.page.setViewportSize({ width: 1280, height: 800 })
    await visitor.open('/boxes', 'Boxes')
    const row = user.page.getByRole('row', { name: new RegExp(`${LONG}/short`) })
    await row.getByText('+2', { exact: true }).waitFor()
    expect((await row.boundingBox())?.height).toBeLessThanOrEqual(41)
    for (const tag of ['env=a-b-c', 'owner=some-long-name-of-a-team'])
      expect((await row.getByText(tag, { exact: true }).boundingBox())?.height).toBeLessThan(24)
    await user.page.locator('[title*="fourth=y"]').waitFor()
  })

  test('keeps its head and what is done with the chosen ones in sight', async () => {
    const { body } = await client.get(`${YARD}/boxes/one`)
    const boxes = Array.from({ length: 200 }, (_, at) => ({
      ...body,
      id: `${body.id}-${at}`,
      name: `box-${1000 + at}`,
    }))
    const json = { boxes, has_more: false, next_continuation_token: null }
    await user.page.route('**/v1/projects/-/boxes?*', (route) => route.fulfill({ json }))
    await user.page.setViewportSize({ width: 1280, height: 700 })
    await visitor.open('/boxes', 'Boxes')
    await visitor.sees('200 boxes')
    await user.page.mouse.move(640, 400)
    await user.page.mouse.wheel(0, 4_000)
    await user.page.getByLabel('Select yard/box-1100').check()
    for (const seen of [user.page.getByRole('toolbar', { name: 'Selected boxes' }), user.page.getByLabel('Select all')])
      await untilSucceeds(async () => {
        const { y = -1, height = 0 } = (await seen.boundingBox()) ?? {}
        expect(y).toBeGreaterThanOrEqual(0)
        expect(y + height).toBeLessThanOrEqual(700)
      })
  })
})

describe('the first picture of a page', () => {
  test.each([
    ['dark', null, 'rgb(15, 20, 18)'],
    ['light', null, 'rgb(246, 247, 246)'],
    ['light', 'dark', 'rgb(15, 20, 18)'],
    ['dark', 'light', 'rgb(246, 247, 246)'],
  ] as const)(
    'on a %s machine, with %s chosen, has its colours before the program has come',
    async (machine, chosen, colour) => {
      await user.page.emulateMedia({ colorScheme: machine })
      await user.page.evaluate(
        `localStorage.${chosen === null ? "removeItem('boxyard.theme')" : `setItem('boxyard.theme', '${chosen}')`}`,
      )
      await user.page.route('**/assets/*.js', () => undefined)
      await user.page.goto(`${service().url}/boxes`, { waitUntil: 'commit' })
      const background = 'document.body && getComputedStyle(document.body).backgroundColor'
      await untilSucceeds(async () => expect(await user.page.evaluate(background)).toBe(colour))
      await user.page.unrouteAll({ behavior: 'ignoreErrors' })
    },
  )
})

describe('a dialog for something new', () => {
  const projectIn = (name: string): Promise<string> => dialog().getByLabel(name, { exact: true }).inputValue()

  test('is for the project that the page shows, else for the last one, else asks', async () => {
    for (const [path, heading, field] of [
      ['/boxes?create=box', 'Create box', 'Project'],
      ['/volumes?dialog=create', 'Create volume', 'Project'],
      ['/bases?dialog=make', 'Create base', 'Project'],
      ['/tokens?dialog=create', 'Create token', 'Projects'],
    ] as const) {
      await visitor.open(path, heading)
      expect(await projectIn(field)).toBe('')
    }
    await visitor.open(`/boxes?create=box&project=${LONG}`, 'Create box')
    await eventually(async () => (await projectIn('Project')) === LONG)
    await visitor.open('/boxes?create=box', 'Create box')
    await dialog().getByLabel('Project', { exact: true }).fill('yard')
    await dialog().getByLabel('Name', { exact: true }).fill('chosen')
    await button('Create').click()
    await user.page.getByRole('heading', { level: 1, name: 'yard/chosen' }).waitFor()
    await visitor.open('/volumes?dialog=create', 'Create volume')
    await eventually(async () => (await projectIn('Project')) === 'yard')
  })

  test.each([
    ['/boxes?create=box', 'Create box', 'Memory in MiB', 'Create'],
    ['/bases?dialog=make&of=box', 'Create base', 'Box', 'Create'],
  ])('that opened while the service was away says so, and fills up: %s', async (path, heading, field, action) => {
    const reads = (url: URL): boolean => /^\/v1\/(config|bases|projects\/-\/(bases|data))$/.test(url.pathname)
    const boxes = (url: URL): boolean => url.pathname === '/v1/projects/-/boxes' && path.startsWith('/bases')
    for (const each of [reads, boxes]) await user.page.route(each, (route) => route.abort())
    await user.page.evaluate(`sessionStorage.setItem('boxyard.project', 'yard')`)
    // The bases page reads these for its own list.
    if (path.startsWith('/bases')) await user.page.unroute(reads)
    await visitor.open(path, heading)
    await dialog().getByRole('alert').waitFor()
    expect(await button(action).isDisabled()).toBe(true)
    await user.page.unrouteAll({ behavior: 'ignoreErrors' })
    await eventually(async () => (await dialog().getByRole('alert').count()) === 0)
    expect(await dialog().getByLabel(field, { exact: true }).inputValue()).not.toBe('')
    expect(await button(action).isDisabled()).toBe(false)
  })
})
