import { beforeAll, describe, expect, test } from '@jest/globals'
import type { Locator } from 'playwright-core'
import { eventually } from '../../helpers/eventually.ts'
import { useSharedService } from '../../helpers/own-service.ts'
import { useConsole } from '../../helpers/web/visited-console.ts'
import { isFocused } from '../../helpers/web/visitor.ts'

const { client, service, user, visitor } = useConsole(useSharedService())
const { button, dialog } = visitor
const YARD = '/v1/projects/yard'
const LONG = `${'a'.repeat(61)}-b`

beforeAll(async () => {
  for (const name of ['one', 'one-2', LONG]) await client.post(`${YARD}/boxes`, { name })
  await client.post(`${YARD}/boxes/one/snapshots`, { name: 'taken' })
  await client.post(`${YARD}/data`, { name: 'db', size_gb: 0.1 })
  await client.shell('yard', 'one', 'echo first > /srv/there; echo other > /srv/other')
})

const pageAt = (path: string): Promise<unknown> => user.page.goto(`${service().url}${path}`, { waitUntil: 'commit' })

interface Refusal {
  path: string
  /** Button to press on the loaded page to open the form. */
  opens?: string
  /** Item to choose from the menu of the box instead. */
  chooses?: string
  /** Fields and their input. */
  fills: Readonly<Record<string, string>>
  sends: string
  /** Field that shows the refusal, and the text. */
  at: string
  words: string | RegExp
}

/** Input that the service refuses, though a browser accepts it. */
const REFUSALS: readonly Refusal[] = [
  {
    path: '/boxes?create=box',
    fills: { Project: 'yard', Name: 'big', 'Memory in MiB': '16777217' },
    ...{ sends: 'Create', at: 'Memory in MiB', words: 'It must be at most 16777216.' },
  },
  {
    path: '/boxes?create=box',
    fills: { Project: 'yard', Name: 'one' },
    ...{ sends: 'Create', at: 'Name', words: /"one"/ },
  },
  {
    path: '/boxes/yard/one',
    chooses: 'Fork',
    fills: { 'Name of the new box': 'one-2' },
    ...{ sends: 'Fork', at: 'Name of the new box', words: /"one-2"/ },
  },
  {
    path: '/boxes/yard/one',
    chooses: 'Settings',
    fills: { Tags: 'no key=1' },
    ...{ sends: 'Save', at: 'Tags', words: /^Keys are 1–317 of/ },
  },
  {
    path: '/boxes/yard/one/snapshots',
    opens: 'Take snapshot',
    fills: { Name: 'taken' },
    ...{ sends: 'Take snapshot', at: 'Name', words: /taken/ },
  },
  {
    path: '/boxes/yard/one/files?path=%2Fsrv',
    opens: 'New file',
    fills: { Name: 'there' },
    ...{ sends: 'Create', at: 'Name', words: /\w/ },
  },
  {
    path: '/boxes/yard/one/files?path=%2Fsrv',
    opens: 'Rename other',
    fills: { Name: 'no/../such' },
    ...{ sends: 'Rename', at: 'Name', words: 'It must be a name without /.' },
  },
  {
    path: '/boxes/yard/one/services',
    opens: 'Add service',
    fills: { Name: 'web', Command: 'sleep 9', User: 'no user' },
    ...{ sends: 'Add and start', at: 'User', words: 'It must be user or user:group.' },
  },
  {
    path: '/boxes/yard/one/services',
    opens: 'Add service',
    fills: { Name: 'web', Command: 'sleep 9', Environment: 'no variable' },
    ...{ sends: 'Add and start', at: 'Environment', words: '"no variable" is not NAME=VALUE.' },
  },
  {
    path: '/boxes/yard/one/services',
    opens: 'Add service',
    fills: { Name: 'web', Command: "sh -c 'open" },
    ...{ sends: 'Add and start', at: 'Command', words: "Missing closing quote (')." },
  },
  {
    path: '/boxes/yard/one/services',
    fills: { 'Custom domain': 'no domain' },
    ...{ sends: 'Add', at: 'Custom domain', words: /^It / },
  },
  {
    path: '/boxes/yard/one/commands',
    fills: { Command: 'true', User: 'no user' },
    ...{ sends: 'Run', at: 'User', words: 'It must be user or user:group.' },
  },
  {
    path: '/volumes?dialog=create',
    fills: { Project: 'yard', Name: 'db' },
    ...{ sends: 'Create', at: 'Name', words: /"db"/ },
  },
  {
    path: '/volumes/yard/db?dialog=attach',
    fills: { 'Path in the box': '/proc/x' },
    ...{ sends: 'Attach', at: 'Path in the box', words: /\/proc/ },
  },
  {
    path: '/bases?dialog=make',
    fills: { Project: 'yard', Name: 'made', Image: 'no image' },
    ...{ sends: 'Create', at: 'Image', words: /Expected a reference such as debian:12/ },
  },
  {
    path: '/projects?quota=yard',
    fills: { 'Memory in MiB': '99999999999999999' },
    ...{ sends: 'Save', at: 'Memory in MiB', words: /^It must be / },
  },
  {
    path: '/tokens?dialog=create',
    fills: { Name: 'ci', Projects: 'No-Project' },
    ...{ sends: 'Create token', at: 'Projects', words: /^It must be / },
  },
]

test('what is refused is told at its field, in words, until that changes', async () => {
  for (const { path, opens, chooses, fills, sends, at, words } of REFUSALS) {
    await pageAt(path)
    if (opens !== undefined) await button(opens).first().click()
    if (chooses !== undefined) await visitor.choose('one', chooses)
    const form = user.page.locator('form').filter({ has: user.page.getByLabel(at, { exact: true }) })
    await form.waitFor()
    // Parts of a form are collapsed.
    for (const more of await form.locator('summary').all()) await more.click()
    for (const [label, value] of Object.entries(fills)) await form.getByLabel(label, { exact: true }).fill(value)
    await form.getByRole('button', { name: sends, exact: true }).click()
    const field = form.getByLabel(at, { exact: true })
    const refusal = form.getByRole('alert').filter({ hasText: words })
    await refusal.waitFor()
    expect([path, await form.getByRole('alert').count()]).toEqual([path, 1])
    expect(await field.getAttribute('aria-describedby')).toBe(await refusal.getAttribute('id'))
    expect(await field.getAttribute('aria-invalid')).toBe('true')
    expect(await refusal.innerText()).not.toMatch(/\/(config|query|allowed)\/|^\/\w+:/)
    await eventually(() => isFocused(field))
    await field.fill('another').catch(() => field.fill('9'))
    await refusal.waitFor({ state: 'detached' })
  }
})

test('a refusal that is no field’s goes when anything changes, and names fields in words where they are of no form', async () => {
  const refuse = { code: 'invalid_request', status: 400, detail: '/config/shm_mb: must be at least 1.' }
  const errors = [
    { pointer: '/config/shm_mb', detail: 'must be at least 1' },
    { pointer: '/lease_seconds', detail: 'must be at least 60' },
  ]
  await user.page.route('**/v1/projects/yard/boxes', (route) =>
    route.fulfill({
      status: 400,
      contentType: 'application/problem+json',
      body: JSON.stringify({ ...refuse, errors }),
    }),
  )
  await visitor.open('/boxes?create=box', 'Create box')
  await dialog().getByLabel('Project', { exact: true }).fill('yard')
  await dialog().getByLabel('Name', { exact: true }).fill('other')
  await button('Create').click()
  await dialog().getByRole('alert').getByText('Shm mb must be at least 1.').waitFor()
  await dialog().getByText('Lease must be at least 60.').waitFor()
  expect(await dialog().getByText('/config').count()).toBe(0)
  await dialog().getByLabel('Name', { exact: true }).fill('another')
  await dialog().getByRole('alert').waitFor({ state: 'detached' })
})

test('a fork gets a name that is free and not too long', async () => {
  const nameOf = async (name: string): Promise<Locator> => {
    await visitor.open(`/boxes/yard/${name}`, `yard/${name}`)
    await visitor.choose(name, 'Fork')
    return dialog().getByLabel('Name of the new box')
  }
  const next = await nameOf('one')
  await eventually(async () => (await next.inputValue()) === 'one-3')
  const cut = await nameOf(LONG)
  expect(await cut.inputValue()).toBe(`${'a'.repeat(61)}-2`)
  await cut.fill('No name')
  await dialog().getByRole('button', { name: 'Fork' }).click()
  await dialog()
    .getByRole('alert')
    .getByText(/^It must be 1–63 of a–z/)
    .waitFor()
})

test('the command of a service is seen whole, however long it is', async () => {
  await visitor.open('/boxes/yard/one/services', 'yard/one')
  await button('Add service').first().click()
  const command = dialog().getByLabel('Command', { exact: true })
  const heights = (): Promise<number[]> =>
    command.evaluate((field) => {
      const { clientHeight, scrollHeight } = field as unknown as Record<'clientHeight' | 'scrollHeight', number>
      return [clientHeight, scrollHeight]
    })
  expect((await heights())[0]).toBeGreaterThan(40)
  await command.fill(`node server.mjs ${'--option=value '.repeat(20)}`)
  const [shown, whole] = await heights()
  expect(shown).toBeGreaterThanOrEqual(whole ?? Number.POSITIVE_INFINITY)
})

describe('a base that fails after its form was closed', () => {
  test('is a row with the reason, from which the form comes back as it was filled, also after a reload', async () => {
    await visitor.open('/bases?dialog=make', 'Create base')
    await dialog().getByLabel('Project', { exact: true }).fill('yard')
    await dialog().getByLabel('Name', { exact: true }).fill('away')
    await dialog().getByLabel('Image').fill('registry.invalid/no/image:1')
    await button('Create').click()
    const row = user.page.getByRole('list', { name: 'Failed' }).getByRole('listitem')
    await row.getByText(/yard\/away from registry\.invalid\/no\/image:1 failed: .*did not answer/).waitFor()
    await user.page.reload({ waitUntil: 'commit' })
    await row.getByRole('button', { name: /^Try again/ }).click()
    expect(await dialog().getByLabel('Project', { exact: true }).inputValue()).toBe('yard')
    expect(await dialog().getByLabel('Name', { exact: true }).inputValue()).toBe('away')
    expect(await dialog().getByLabel('Image').inputValue()).toBe('registry.invalid/no/image:1')
    await dialog().getByRole('button', { name: 'Cancel' }).click()
    await row.getByRole('button', { name: /^Dismiss/ }).click()
    await row.waitFor({ state: 'detached' })
  })
})

test('a quota is used up, not nearly, and its dialog asks for no project without a name', async () => {
  const asked: string[] = []
  user.page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  await client.post('/v1/projects/held/boxes', { name: 'only' })
  const allowed = { boxes: 1, cpus: null, ram_mb: null, storage_gb: null }
  await client.put('/v1/projects/held/quota', { allowed })
  await visitor.open('/projects?q=held', 'Projects')
  await visitor.sees('quota used up')
  await button('Quota of held').click()
  await dialog().getByLabel('Boxes').waitFor()
  await button('Cancel').click()
  await dialog().waitFor({ state: 'detached' })
  const { body } = await client.post('/v1/projects/held/boxes', { name: 'second' })
  expect(body.detail).toContain('1 of 1 boxes are in use, 1 more was asked for')
  expect(asked.filter((path) => path.includes('//'))).toEqual([])
})
