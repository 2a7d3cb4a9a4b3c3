import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { ROOT } from '../../../infra/commands.ts'
import { eventually } from '../../helpers/eventually.ts'
import { useSharedService } from '../../helpers/own-service.ts'
import { useConsole } from '../../helpers/web/visited-console.ts'
import { axeFindings, isFocused, loadAxe } from '../../helpers/web/visitor.ts'

const { client, service, user, visitor } = useConsole(useSharedService())
const { button, dialog } = visitor
const YARD = '/v1/projects/yard'
/** Where the pictures of every page are written, for a look at them. */
const PICTURES = join(ROOT, '.build/screenshots')

const PAGES: readonly [path: string, heading: string][] = [
  ['/', 'Overview'],
  ['/boxes', 'Boxes'],
  ['/boxes?create=box', 'Create a box'],
  ['/boxes/yard/one', 'yard/one'],
  ['/boxes/yard/one/terminal', 'yard/one'],
  ['/boxes/yard/one/files?path=%2Fsrv', 'yard/one'],
  ['/boxes/yard/one/files?path=%2Fsrv%2Fapp', 'yard/one'],
  ['/boxes/yard/one/snapshots', 'Time line'],
  ['/boxes/yard/one/snapshots?from=good&to=live', 'Changes from'],
  ['/boxes/yard/one/snapshots?from=good&to=live&file=%2Fsrv%2Fapp', '/srv/app'],
  ['/boxes/yard/one/commands', 'Run a command'],
  ['/boxes/yard/one/services', 'Services'],
  ['/boxes/yard/one/services?service=site', 'Domains'],
  ['/boxes/yard/one/connect', 'SSH'],
  ['/volumes', 'Volumes'],
  ['/volumes/yard/db', 'yard/db'],
  ['/bases', 'Bases'],
  ['/bases?dialog=make&of=archive', 'Make a base'],
  ['/projects', 'Projects'],
  ['/events', 'Events'],
  ['/storage', 'Storage'],
  ['/tokens', 'Tokens'],
  ['/tokens?dialog=mint', 'Mint a token'],
  ['/audit', 'Audit'],
  ['/settings', 'Settings'],
  ['/no/such/page', 'No such page'],
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
    ['/tokens?dialog=mint', 'Name'],
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
    await button('Define a service').first().click()
    await eventually(() => isFocused(dialog().getByLabel('Name', { exact: true })))
    await user.page.keyboard.press('Escape')
    await visitor.open('/boxes/yard/one/snapshots', 'yard/one')
    await button('Take a snapshot').first().click()
    await eventually(() => isFocused(dialog().getByLabel('Name', { exact: true })))
    await user.page.keyboard.press('Escape')
    await visitor.open('/volumes/yard/db', 'yard/db')
    await button('Delete first').click()
    await eventually(() => isFocused(dialog().getByRole('button', { name: 'Cancel' })))
  })
})
