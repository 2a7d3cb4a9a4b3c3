import { beforeAll, describe, expect, test } from '@jest/globals'
import { useOwnService } from '../../helpers/own-service.ts'
import { useConsole } from '../../helpers/web/visited-console.ts'
import { untilOnScreen, visitorOf } from '../../helpers/web/visitor.ts'

const { client, service, user, visitor } = useConsole(useOwnService())
const BOXES = '/v1/projects/yard/boxes'

beforeAll(async () => {
  for (const name of ['one', 'two']) await client.post(BOXES, { name, tags: { team: 'a' } })
})

describe('the sign-in', () => {
  test('by a token leads to the page that was asked for, and ends with the token', async () => {
    const minted = await client.post('/v1/tokens', { name: 'guest', projects: ['yard'], permissions: ['read'] })
    await visitor.press('Sign out')
    await visitor.open('/boxes/yard/one', 'Sign in to Boxyard')
    await user.page.getByLabel('Access token').fill(minted.body.token)
    await visitor.press('Sign in')
    await user.page.getByRole('heading', { level: 1, name: 'yard/one' }).waitFor()
    // The page neither offers forbidden actions nor requests forbidden data.
    expect(await user.page.getByRole('button', { name: 'Stop' }).count()).toBe(0)
    expect(await user.page.getByRole('link', { name: 'Audit' }).count()).toBe(0)
    await client.delete(`/v1/tokens/${minted.body.id}`)
    await visitor.open('/boxes', 'Sign in to Boxyard')
  })

  test('a wrong token is refused in the words of the contract, with the id of the request; what is none is not sent', async () => {
    await visitor.press('Sign out')
    await user.page.getByLabel('Access token').fill('a b')
    await visitor.press('Sign in')
    await user.page.getByRole('alert').getByText("That isn't a token.").waitFor()
    expect(await user.page.getByText('token_missing').count()).toBe(0)
    await user.page.getByLabel('Access token').fill(' no.such.token ')
    await visitor.press('Sign in')
    await visitor.sees('token_invalid')
    await visitor.sees(/req_/)
  })
})

describe('boxes', () => {
  test('a box is made, seen as it changes, stopped with an undo, and deleted', async () => {
    await visitor.open('/boxes', 'Boxes')
    await visitor.press('Create box')
    await user.page.getByLabel('Project', { exact: true }).last().fill('yard')
    await user.page.getByLabel('Name', { exact: true }).fill('made')
    await visitor.press('Create')
    await user.page.getByRole('heading', { level: 1, name: 'yard/made' }).waitFor()
    await client.post(`${BOXES}/made/stop`)
    await user.page.getByRole('button', { name: 'Start' }).waitFor()
    await visitor.press('Start')
    await user.page.getByRole('button', { name: 'Stop' }).click()
    await visitor.sees('Stopped yard/made.')
    await visitor.press('Undo')
    await user.page.getByRole('button', { name: 'Stop' }).waitFor()
    await visitor.choose('made', 'Delete')
    await user.page.getByLabel('Type made to confirm').fill('made')
    await user.page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await visitor.sees('Deleted yard/made.')
    expect((await client.get(`${BOXES}/made`)).status).toBe(404)
  })

  test('its settings are changed while it runs, and what the form does not show stays', async () => {
    const environment = { OLD: 'a b ', PEM: 'first\nA=second\n' }
    await client.post(BOXES, { name: 'set', environment, config: { shm_mb: 16 } })
    await client.put(`${BOXES}/set`, { url_settings: { auth: 'public' } })
    await visitor.open('/boxes/yard/set', 'yard/set')
    await visitor.choose('set', 'Settings')
    const form = user.page.getByRole('dialog')
    await form.getByText('because they have several lines: PEM.').waitFor()
    await form.getByLabel('Environment').fill('OLD=b\nNEW=x=y')
    await form.getByLabel('Sleep when idle, in minutes').fill('0.5')
    await form.getByLabel('Wake on request').check()
    await form.getByLabel('Disk in MB/s').fill('50')
    await visitor.press('Save')
    await visitor.sees('Updated yard/set.')
    const { body } = await client.get(`${BOXES}/set`)
    expect(body).toMatchObject({
      environment: { OLD: 'b', NEW: 'x=y', PEM: environment.PEM },
      url_settings: { auth: 'public', wake: true, idle_stop_seconds: 30 },
      config: { disk_mbps: 50, shm_mb: 16 },
    })
    await visitor.press('Undo')
    await client.until(`${BOXES}/set`, (answer) => answer.body.environment.OLD === 'a b ')
    const undone = (await client.get(`${BOXES}/set`)).body
    expect([undone.environment, undone.url_settings, undone.config.disk_mbps]).toEqual([
      environment,
      { auth: 'public', wake: false, idle_stop_seconds: null },
      null,
    ])
    await client.delete(`${BOXES}/set`)
  })

  test('what happened to it is listed, and to it alone', async () => {
    for (const name of ['told', 'told-2']) await client.post(BOXES, { name })
    await client.post(`${BOXES}/told/snapshots`, { name: 'kept' })
    await visitor.open('/boxes/yard/told', 'yard/told')
    await user.page.getByRole('link', { name: 'Activity', exact: true }).last().click()
    await user.page.waitForURL('**/boxes/yard/told/activity')
    await visitor.sees('yard/told@kept')
    const part = user.page.locator('[data-part]')
    expect(await part.innerText()).not.toContain('told-2')
    await client.post(`${BOXES}/told/stop`)
    await part.getByText('stopped').first().waitFor()
    for (const name of ['told', 'told-2']) await client.delete(`${BOXES}/${name}`)
  })

  test('a press anywhere in its row opens it, and what else is in the row does its own', async () => {
    await visitor.open('/boxes', 'Boxes')
    const row = user.page.getByRole('row').filter({ hasText: 'yard/one' })
    await row.getByRole('checkbox').check()
    const place = await row.getByText('busybox').boundingBox()
    if (place === null) throw new Error('the base of the box is not shown')
    await user.page.mouse.click(place.x + place.width / 2, place.y + place.height / 2)
    await user.page.waitForURL('**/boxes/yard/one/terminal')
  })

  test('its size and tags are changed while it runs, with an undo', async () => {
    await visitor.open('/boxes/yard/one', 'yard/one')
    await visitor.choose('one', 'Settings')
    await user.page.getByLabel('Memory in MiB').fill('300')
    await user.page.getByRole('dialog').getByLabel('Tags').fill('team=a\nchanged=yes')
    // Another user changes a different setting at the same time.
    await client.put(`${BOXES}/one`, { config: { cpus: 0.7 } })
    await visitor.press('Save')
    await visitor.sees('Updated yard/one.')
    const changed = (await client.get(`${BOXES}/one`)).body
    expect([changed.config.ram_mb, changed.config.cpus, changed.tags, changed.status]).toEqual([
      300,
      0.7,
      { team: 'a', changed: 'yes' },
      'running',
    ])
    await visitor.press('Undo')
    await client.until(`${BOXES}/one`, ({ body }) => body.tags.changed === undefined)
  })

  test('one that somebody else deletes says so where it is open', async () => {
    await client.post(BOXES, { name: 'fleeting' })
    await visitor.open('/boxes/yard/fleeting', 'yard/fleeting')
    await client.delete(`${BOXES}/fleeting`)
    await visitor.sees('This box was deleted')
    expect(await user.page.getByRole('button', { name: 'Stop' }).count()).toBe(0)
  })

  test('a page that cannot be reached comes by itself once it can', async () => {
    await user.page.route('**/v1/projects/-/boxes?*', (route) => route.abort())
    await visitor.open('/boxes', "Can't reach Boxyard")
    await user.page.unroute('**/v1/projects/-/boxes?*')
    await user.page.getByRole('heading', { name: 'Boxes', exact: true }).waitFor()
    await user.page.getByRole('link', { name: 'yard/one' }).waitFor()
  })

  test('the list is found by words, chosen from, and brought up to date by others', async () => {
    await visitor.open('/boxes?q=team%3Da', 'Boxes')
    await visitor.sees('2 boxes')
    await user.page.getByLabel('Select yard/two').check()
    await visitor.press('Stop 1')
    await client.until(`${BOXES}/two`, ({ body }) => body.status === 'stopped')
    await user.page.getByRole('row', { name: /yard\/two.*stopped/ }).waitFor()
    await client.post(`${BOXES}/two/resume`)
    await user.page.getByRole('row', { name: /yard\/two.*running/ }).waitFor()
    await client.post(BOXES, { name: 'third', tags: { team: 'a' } })
    await user.page.getByRole('link', { name: 'yard/third' }).waitFor()
    await client.delete(`${BOXES}/third`)
    await user.page.getByRole('link', { name: 'yard/third' }).waitFor({ state: 'detached' })
  })

  test('the palette leads to a box by a few letters, without a mouse', async () => {
    await user.page.keyboard.press('Control+k')
    await user.page.getByRole('combobox').fill('two')
    await user.page.getByRole('option', { name: /^yard\/two box/ }).waitFor()
    await user.page.keyboard.press('Enter')
    await user.page.getByRole('heading', { level: 1, name: 'yard/two' }).waitFor()
  })

  test('the palette keeps what is chosen in sight', async () => {
    await user.page.keyboard.press('Control+k')
    // Until the boxes have loaded, another option is the last one.
    await user.page.getByRole('option', { name: /^yard\/two terminal/ }).waitFor()
    await user.page.keyboard.press('ArrowUp')
    const last = user.page.getByRole('option').last()
    expect(await last.getAttribute('aria-selected')).toBe('true')
    const [list, option] = [await user.page.getByRole('listbox').boundingBox(), await last.boundingBox()]
    expect((option?.y ?? 0) + (option?.height ?? 0)).toBeLessThanOrEqual((list?.y ?? 0) + (list?.height ?? 0))
  })
})

describe('a terminal', () => {
  test('goes on after a reload, for two browsers, and when the agent is killed under it', async () => {
    await visitor.open('/boxes/yard/one/terminal', 'yard/one')
    await visitor.type('kept=at-$((40 + 2)); echo is $kept')
    await untilOnScreen(visitor, 'is at-42')
    await visitor.open('/boxes/yard/one/terminal', 'yard/one')
    await untilOnScreen(visitor, 'is at-42')

    const second = visitorOf({ page: await user.context.newPage() }, service)
    await second.open('/boxes/yard/one/terminal', 'yard/one')
    await second.type('echo again $kept')
    await untilOnScreen(visitor, 'again at-42')

    await service().killAgent()
    await user.page.locator('[data-state="lost"], [data-state="connecting"]').first().waitFor()
    await service().startAgent()
    await visitor.type('echo still $kept')
    await untilOnScreen(visitor, 'still at-42')
  })

  test('a flood of output neither freezes the page nor fills it', async () => {
    await visitor.open('/boxes/yard/one/terminal?session=flood', 'yard/one')
    await visitor.type('yes flood')
    await untilOnScreen(visitor, 'flood')
    await visitor.press('New terminal')
    await untilOnScreen(visitor, '#')
    await user.page.getByRole('link', { name: 'flood', exact: true }).click()
    await user.page.locator('[data-state="open"]').waitFor()
    await user.page.locator('.xterm-helper-textarea').focus()
    await user.page.keyboard.press('Control+c')
    await visitor.type('echo over-$((1 + 1))')
    await untilOnScreen(visitor, 'over-2')
  })
})
