import { join } from 'node:path'
import { beforeAll, describe, expect, test } from '@jest/globals'
import type { Page } from 'playwright-core'
import { openUsageHistory } from '../../../agent/drivers/store/usage-history.ts'
import { eventually, untilSucceeds } from '../../helpers/eventually.ts'
import { useOwnService } from '../../helpers/own-service.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'
import { readChart } from '../../helpers/web/chart-line.ts'
import { useConsole } from '../../helpers/web/visited-console.ts'
import { untilOnScreen, visitorOf } from '../../helpers/web/visitor.ts'

const { client, service, user, visitor } = useConsole(useOwnService())
const BOX = '/v1/projects/yard/boxes/one'

beforeAll(async () => {
  await client.post('/v1/projects/yard/boxes', { name: 'one' })
})

/** Returns the last tick number in an output. */
async function lastTick(page: Page, label: string): Promise<number> {
  const text = await page.getByRole('log', { name: label }).innerText()
  return Number(/tick-(\d+)\s*$/.exec(text)?.[1] ?? -1)
}

describe('output', () => {
  test('of a command and of a service goes on where it was, however often the service is killed', async () => {
    const ticks = 'i=0; while :; do echo tick-$i; i=$((i+1)); sleep 0.2; done'
    await client.put(`${BOX}/services/ticker`, { command: ['sh', '-c', ticks] })
    await visitor.open('/boxes/yard/one/commands', 'yard/one')
    await user.page.getByLabel('Command', { exact: true }).fill(ticks)
    await user.page.getByText('Options', { exact: true }).click()
    await user.page.getByLabel('Keep running when I leave').check()
    await visitor.press('Run')
    await eventually(async () => (await lastTick(user.page, 'Output')) > 0)
    const { body } = await client.get(`${BOX}/exec`)
    const pages = [user.page, await user.context.newPage(), await user.context.newPage()] as const
    await visitorOf({ page: pages[1] }, service).open(
      `/boxes/yard/one/commands?exec=${body.execs.at(-1).id}`,
      'yard/one',
    )
    await visitorOf({ page: pages[2] }, service).open('/boxes/yard/one/services?service=ticker', 'yard/one')
    const labels = ['Output', 'stdout', 'Log of ticker'] as const
    const look = (): Promise<number[]> => Promise.all(pages.map((page, at) => lastTick(page, labels[at] ?? '')))
    await eventually(async () => (await look()).every((tick) => tick > 0))
    await service().killAgent()
    for (const page of pages) await page.getByText('Reconnecting…').first().waitFor()
    const before = await look()
    await service().startAgent()
    await eventually(async () => (await look()).every((tick, at) => tick > (before[at] ?? 0) + 3))
    for (const [at, page] of pages.entries()) {
      await eventually(async () => (await page.getByText('Reconnecting…').count()) === 0)
      const text = await page.getByRole('log', { name: labels[at] ?? '' }).innerText()
      const shown = [...text.matchAll(/tick-(\d+)/g)].map(([, tick]) => Number(tick))
      expect(shown).toEqual(shown.map((_, index) => (shown[0] ?? 0) + index))
    }
    await client.delete(`${BOX}/services/ticker`)
  })
})

describe('what happens', () => {
  test('between the first reads and the first event is shown', async () => {
    const isStream = ({ pathname }: URL): boolean => pathname === '/v1/projects/-/events'
    let go = (): void => undefined
    const isAsked = new Promise<void>((asked) => {
      void user.page.route(isStream, async (route) => {
        if ((await route.request().headerValue('accept')) !== 'text/event-stream') return route.continue()
        asked()
        await new Promise<void>((resolve) => {
          go = resolve
        })
        await route.continue()
      })
    })
    await visitor.open('/boxes/yard/one', 'yard/one')
    await user.page.getByRole('button', { name: 'Stop' }).waitFor()
    await isAsked
    await client.post(`${BOX}/stop`)
    go()
    await user.page.getByRole('button', { name: 'Start' }).waitFor()
    await client.post(`${BOX}/resume`)
    await user.page.getByRole('button', { name: 'Stop' }).waitFor()
  })
})

describe('an undo', () => {
  test('goes once it can no longer be done, or somebody has done it', async () => {
    const boxes = '/v1/projects/yard/boxes'
    for (const name of ['brief', 'brief-2']) await client.post(boxes, { name })
    await visitor.open('/boxes?q=brief', 'Boxes')
    await user.page.getByText('Live').waitFor()
    const stopBoth = async (): Promise<void> => {
      await user.page.getByLabel('Select all').check()
      await visitor.press('Stop 2')
      await visitor.sees('Stopped 2 boxes.')
    }
    const undo = user.page.getByRole('button', { name: 'Undo' })
    await stopBoth()
    // While the button has focus, it does not disappear.
    await undo.focus()
    await client.post(`${boxes}/brief/resume`)
    await user.page.getByRole('row', { name: /yard\/brief running/ }).waitFor()
    expect(await undo.count()).toBe(1)
    await client.delete(`${boxes}/brief-2`)
    await undo.waitFor({ state: 'detached' })
    await client.delete(`${boxes}/brief`)
  })
})

describe('a page whose file does not come', () => {
  test('says so, offers a reload, and comes by itself once it can', async () => {
    const isFile = /\/assets\/settings-[^/]*\.js$/
    const page = await user.context.newPage()
    await page.route(isFile, (route) => route.abort())
    await visitorOf({ page }, service).open('/', 'Overview')
    await page.getByRole('link', { name: 'Settings' }).click()
    await page.getByText("Couldn't load this page").waitFor()
    await page.getByRole('button', { name: 'Reload' }).waitFor()
    await page.unroute(isFile)
    await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor()
  })

  test('is rare: the files of all pages come while nothing else is to be done', async () => {
    const page = await user.context.newPage()
    await visitorOf({ page }, service).open('/', 'Overview')
    const files = ['settings', 'audit', 'storage', 'volumes', 'services', 'files', 'terminals', 'projects']
    const loaded = "performance.getEntriesByType('resource').map(({ name }) => name).join(' ')"
    await eventually(async () => {
      const names = await page.evaluate<string>(loaded)
      return files.every((file) => names.includes(`/assets/${file}-`))
    })
    await page.route('**', (route) => route.abort())
    await page.getByRole('link', { name: 'Settings' }).click()
    await page.getByRole('alert').getByText('cannot be reached').waitFor()
    expect(await page.getByText("Couldn't load this page").count()).toBe(0)
  })
})

describe('what has happened', () => {
  test('is shown in part, and what was earlier at a press, until nothing earlier is kept', async () => {
    await client.post('/v1/projects/past/data', { name: 'early', size_gb: 0.1 })
    const border = Date.now() + 1
    await eventually(() => Date.now() > border)
    for (let boxes = 1; boxes <= 60; boxes++)
      await client.put('/v1/projects/past/quota', { allowed: { boxes, cpus: null, ram_mb: null, storage_gb: null } })
    // The page first reads the 15 minutes before the time that it takes for now.
    await user.page.clock.setFixedTime(border + 15 * 60_000)
    await visitor.open('/activity?project=past', 'Activity')
    const rows = user.page.getByRole('list', { name: 'Activity, newest first' }).getByRole('listitem')
    const early = user.page.getByRole('link', { name: 'past/early' })
    await rows.first().getByText('changed the quota of').waitFor()
    expect(await rows.first().getAttribute('aria-setsize')).toBe('60')
    await visitor.press('Show earlier')
    await user.page.getByText('No earlier activity.').scrollIntoViewIfNeeded()
    await early.first().waitFor()
    expect(await rows.last().getByText('created volume').count()).toBe(1)
    expect(Number(await rows.last().getAttribute('aria-setsize'))).toBeGreaterThan(60)
  })
})

describe('the chart of a box', () => {
  test('has a gap where the service has no figures', async () => {
    const { body: box } = await client.get(BOX)
    await service().killAgent()
    const history = openUsageHistory(join(service().dataDir, 'metrics.db'), silentLogger)
    const minute = Math.floor(Date.now() / 60_000)
    const used = { cpuCores: 0.1, memoryBytes: 30e6, cacheBytes: 0, storageBytes: 1e6 }
    // Covers the minutes from 40 to 25 ago, and the last ten.
    const ago = [...Array.from({ length: 16 }, (_, at) => 40 - at), ...Array.from({ length: 11 }, (_, at) => 10 - at)]
    const points = ago.map((minutes) => {
      return { boxId: box.id, at: 60_000 * (minute - minutes), ...used, receivedPerSecond: 0, sentPerSecond: 0 }
    })
    await history.append(60_000, points)
    await history.close()
    await service().startAgent()
    await visitor.open('/boxes/yard/one', 'yard/one')
    await untilSucceeds(async () => {
      const stretches = await readChart(user.page, 'Memory')
      expect(stretches.map(({ hasLine }) => hasLine)).toEqual([true, false, true])
      expect(stretches[1]?.part).toBeCloseTo(15 / 40, 1)
    })
  })
})

describe('a session', () => {
  test('that ends or begins in one tab does so in the others, and asks before what is not saved is left', async () => {
    await client.shell('yard', 'one', 'echo first > /srv/note')
    const other = await user.context.newPage()
    const editing = await user.context.newPage()
    await visitorOf({ page: other }, service).open('/boxes', 'Boxes')
    await visitorOf({ page: editing }, service).open('/boxes/yard/one/files?path=%2Fsrv%2Fnote', 'yard/one')
    await editing.getByLabel('Text of the file').fill('not saved')
    await visitor.press('Sign out')
    await other.getByText('You signed out in another tab.').waitFor()
    await editing.getByRole('dialog').getByText('without saving').waitFor()
    expect(await editing.getByLabel('Text of the file').inputValue()).toBe('not saved')

    const { body } = await client.post('/v1/tokens', { name: 'guest', projects: ['yard'], permissions: ['read'] })
    await user.page.getByLabel('Access token').fill(body.token)
    await visitor.press('Sign in')
    await other.getByRole('heading', { name: 'Boxes', exact: true }).waitFor()
    await other.getByRole('link', { name: 'yard/one' }).waitFor()
    // The page no longer offers actions of the previous session.
    expect(await other.getByRole('button', { name: 'Create box' }).count()).toBe(0)
    await client.delete(`/v1/tokens/${body.id}`)
  })
})

describe('a terminal in a browser that does not hold a connection', () => {
  test('is attached anew in a flood of output, and takes what is typed into it', async () => {
    await user.context.addInitScript('delete globalThis.WebSocketStream')
    let attached = 0
    user.page.on('websocket', () => attached++)
    await visitor.open('/boxes/yard/one/terminal?session=flood', 'yard/one')
    // A page that is far slower than the box, however busy the machine is.
    const page = await user.context.newCDPSession(user.page)
    await visitor.type('yes flood')
    await page.send('Emulation.setCPUThrottlingRate', { rate: 8 })
    await eventually(() => attached > 1)
    await page.send('Emulation.setCPUThrottlingRate', { rate: 1 })
    await user.page.locator('.xterm-helper-textarea').focus()
    await user.page.keyboard.press('Control+c')
    await user.page.keyboard.type('echo over-$((1 + 1))\n')
    await untilOnScreen(visitor, 'over-2')
  })
})
