import { beforeAll, describe, expect, test } from '@jest/globals'
import type { Locator } from 'playwright-core'
import { eventually } from '../../helpers/eventually.ts'
import { useSharedService } from '../../helpers/own-service.ts'
import { useConsole } from '../../helpers/web/visited-console.ts'
import { axeFindings, isFocused, loadAxe, untilOnScreen } from '../../helpers/web/visitor.ts'

const { client, service, user, visitor, changeBrowser } = useConsole(useSharedService())
const { button, dialog } = visitor
const YARD = '/v1/projects/yard'

beforeAll(async () => {
  for (const name of ['one', 'box-2', 'box-10']) await client.post(`${YARD}/boxes`, { name })
  await client.shell('yard', 'one', 'cd /srv; for n in 1 2 10; do echo $n > f-$n; done; chown 65534:65534 f-2')
  await client.post(`${YARD}/boxes/one/snapshots`, { name: 'good' })
  await client.shell('yard', 'one', 'echo short > /srv/f-1')
  await client.post(`${YARD}/data`, { name: 'shared', size_gb: 0.1 })
  for (const box of ['one', 'box-2', 'box-10'])
    await client.post(`${YARD}/data/shared/attach`, { box, path: '/var/shared', read_only: true })
})

const navigation = (): Locator => user.page.getByRole('navigation', { name: 'Pages' })

/** Returns a computed style of an element. */
const styleOf = (element: Locator, name: string): Promise<string> =>
  element.evaluate((node, property) => {
    const { getComputedStyle } = globalThis as unknown as {
      getComputedStyle(node: unknown): { getPropertyValue(property: string): string }
    }
    return getComputedStyle(node).getPropertyValue(property)
  }, name)

describe('a page that is not there', () => {
  test.each([
    ['/nope', 'Page not found'],
    ['/volumes/yard/shared/more', 'Page not found'],
    ['/boxes/yard/none', 'Box not found'],
    ['/volumes/yard/none', 'Volume not found'],
  ])('leaves the frame, with its navigation: %s', async (path, heading) => {
    await loadAxe(user.context)
    await visitor.open(path, heading)
    await navigation().getByRole('link', { name: 'Boxes' }).waitFor()
    expect(await user.page.getByRole('main').getByRole('heading', { name: heading }).count()).toBe(1)
    expect(await axeFindings(user.page)).toEqual([])
  })

  test.each([
    ['/boxes/yard/one/nope', 'There is nothing at this address'],
    ['/boxes/yard/one/snapshots?from=none&to=live', 'snapshot_not_found'],
  ])('leaves the frame of its box: %s', async (path, text) => {
    await visitor.open(path, 'yard/one')
    await visitor.sees(text)
    await user.page.getByRole('navigation', { name: 'Parts of the box' }).waitFor()
    await user.page.getByRole('heading', { level: 1, name: 'yard/one' }).waitFor()
  })

  test('a part that a token may not see leaves the frame of its box', async () => {
    const { body } = await client.post('/v1/tokens', { name: 'reader', projects: ['yard'], permissions: ['read'] })
    const made = await client.post('/v1/session/links', undefined, { token: body.token })
    await changeBrowser()
    await visitor.signInBy(made.body.ticket)
    for (const part of ['terminal', 'commands']) {
      await visitor.open(`/boxes/yard/one/${part}`, 'yard/one')
      await visitor.sees(/permission_denied|This token cannot/)
      await user.page.getByRole('link', { name: 'Files', exact: true }).click()
      await user.page
        .getByRole('navigation', { name: 'Path' })
        .or(user.page.getByText('Download as tar'))
        .first()
        .waitFor()
    }
  })
})

describe('a page on its way', () => {
  test('is marked in the navigation, has its title, and a line says that it comes', async () => {
    let go = (): void => undefined
    const held = new Promise<void>((resolve) => (go = resolve))
    await user.page.route('**/v1/storage', async (route) => {
      await held
      await route.continue()
    })
    await navigation().getByRole('link', { name: 'Storage' }).click()
    const heading = user.page.getByRole('heading', { level: 1, name: 'Storage' })
    await heading.waitFor()
    expect(await user.page.locator('[aria-busy="true"]').count()).toBeGreaterThan(0)
    expect(await navigation().locator('[aria-current="page"]').innerText()).toBe('Storage')
    expect(await user.page.title()).toBe('Storage · Boxyard')
    go()
    await eventually(async () => (await user.page.locator('[aria-busy="true"]').count()) === 0)
    await eventually(() => isFocused(heading))
  })

  test('whose file is slow shows a line at once', async () => {
    let go = (): void => undefined
    const held = new Promise<void>((resolve) => (go = resolve))
    const page = await user.context.newPage()
    await page.route(/\/assets\/settings-[^/]*\.js$/, async (route) => {
      await held
      await route.continue()
    })
    await page.goto(`${service().url}/boxes`, { waitUntil: 'commit' })
    await page.getByRole('link', { name: 'Settings' }).click()
    await page.getByRole('status', { name: 'Loading page' }).waitFor()
    await page.locator('nav[aria-label="Pages"] [aria-current="page"]', { hasText: 'Settings' }).waitFor()
    go()
    await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor()
    await page.getByRole('status', { name: 'Loading page' }).waitFor({ state: 'hidden' })
  })
})

describe('the charts of a box', () => {
  test('have whole figures without noughts, a legend, and no label over another', async () => {
    await visitor.open('/boxes/yard/one', 'yard/one')
    await user.page.getByText('1 core,').waitFor()
    const network = user.page.locator('figure').filter({ hasText: 'Network' })
    await network.locator('[data-line="1"]').waitFor()
    const strokes = await network
      .locator('[data-line] line')
      .evaluateAll((lines) =>
        (lines as unknown as { getAttribute(name: string): string }[]).map(
          (line) => `${line.getAttribute('stroke')} ${line.getAttribute('stroke-dasharray')}`,
        ),
      )
    expect(new Set(strokes).size).toBe(2)
    expect(await user.page.getByText(/\.0 (KiB|MiB|GiB)|1 cores|1\.00 core/).count()).toBe(0)
  })
})

describe('the text of a file that has changed', () => {
  test('begins beside its line numbers', async () => {
    await visitor.open('/boxes/yard/one/snapshots?from=good&to=live&file=%2Fsrv%2Ff-1', '/srv/f-1')
    const row = user.page.getByRole('row', { name: 'added short' })
    const [whole, text] = [await row.boundingBox(), await row.getByRole('cell').last().boundingBox()]
    expect((text?.x ?? 1000) - (whole?.x ?? 0)).toBeLessThan(160)
  })
})

describe('who wants no motion or other colours', () => {
  test('sees a still cursor, and what is only a colour elsewhere', async () => {
    await user.page.emulateMedia({ reducedMotion: 'reduce', forcedColors: 'active' })
    await visitor.open('/boxes/yard/one/terminal', 'yard/one')
    await visitor.type('echo here')
    await untilOnScreen(visitor, 'here')
    expect(await user.page.locator('.xterm-cursor-blink').count()).toBe(0)
    const [current, other] = ['[aria-current="page"]', ':not([aria-current])'].map((state) =>
      navigation().locator(`a${state}`).first(),
    ) as [Locator, Locator]
    expect(await styleOf(current, 'outline-style')).toBe('solid')
    expect(await styleOf(other, 'outline-style')).toBe('none')
    await visitor.open('/', 'Overview')
    const meter = user.page.getByRole('meter', { name: 'Load' })
    const canvas = await styleOf(user.page.locator('body'), 'background-color')
    expect(await styleOf(meter.locator('> *'), 'background-color')).not.toBe(canvas)
    expect(await styleOf(meter, 'border-top-style')).toBe('solid')
    const dots = user.page.locator('.dot')
    expect(await styleOf(dots.first(), 'background-color')).not.toBe(canvas)
  })
})

describe('odds', () => {
  test('an address holds texts as they are', async () => {
    await visitor.open('/audit', 'Audit')
    await user.page.getByLabel('Status', { exact: true }).fill('409')
    await button('Show').click()
    await user.page.waitForURL(/\?status=409$/)
    await visitor.open('/boxes?q=1.0', 'Boxes')
    expect(await user.page.getByLabel('Name, tag or base').inputValue()).toBe('1.0')
    await visitor.open('/boxes?q=true', 'Boxes')
    expect(await user.page.getByLabel('Name, tag or base').inputValue()).toBe('true')
  })

  test('names are in the order in which people count, and their boxes are of one colour', async () => {
    await visitor.open('/boxes?project=yard', 'Boxes')
    const links = user.page.getByRole('row').getByRole('link', { name: /^yard\// })
    const names = (await links.allInnerTexts()).map((each) => each.replaceAll(/\s/g, ''))
    expect(names).toEqual(['yard/box-2', 'yard/box-10', 'yard/one'])
    const inList = await styleOf(user.page.getByLabel('Select all'), 'accent-color')
    await visitor.open('/tokens?dialog=create', 'Create token')
    expect(await styleOf(dialog().getByRole('checkbox').first(), 'accent-color')).toBe(inList)
    await visitor.open('/boxes/yard/one/files?path=%2Fsrv', 'yard/one')
    await user.page.getByRole('link', { name: 'f-10' }).waitFor()
    const files = await user.page.getByRole('listitem').getByRole('link', { name: /^f-/ }).allInnerTexts()
    expect(files).toEqual(['f-1', 'f-2', 'f-10'])
    const owner = user.page.getByText('65534:65534')
    expect((await owner.boundingBox())?.height).toBeLessThan(24)
    expect(
      await owner.evaluate((node) => (node as unknown as { scrollWidth: number }).scrollWidth),
    ).toBeLessThanOrEqual(Math.ceil((await owner.boundingBox())?.width ?? 0))
  })

  test('links in lists are large enough to be hit', async () => {
    await loadAxe(user.context)
    await visitor.open('/volumes', 'Volumes')
    await user.page.getByRole('link', { name: 'box-10' }).waitFor()
    expect(await axeFindings(user.page)).toEqual([])
  })

  test('a notice lies over nothing that cannot be scrolled out from under it', async () => {
    await user.page.setViewportSize({ width: 1280, height: 420 })
    await visitor.open('/volumes/yard/shared', 'yard/shared')
    const last = user.page.getByRole('button', { name: 'Back up now' })
    await last.scrollIntoViewIfNeeded()
    await user.page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
    await button('Detach from box-2').evaluate((each) => (each as unknown as { click(): void }).click())
    const notice = user.page.getByRole('region', { name: /^Notices/ })
    await notice.getByText('detached').waitFor()
    await notice.hover()
    await eventually(async () => {
      const [below, above] = [
        await notice.boundingBox(),
        await user.page.getByRole('main').locator('section').last().boundingBox(),
      ]
      return above !== null && below !== null && above.y + above.height <= below.y
    })
  })

  test('a dialog without a field never has the focus at what closes it', async () => {
    await visitor.open('/boxes/yard/one/snapshots', 'Timeline')
    await button('More actions for good').click()
    await user.page.getByRole('menuitem', { name: 'Delete good', exact: true }).click()
    await dialog().waitFor()
    await eventually(async () => (await dialog().locator(':focus').count()) > 0)
    expect(await isFocused(dialog().getByRole('button', { name: 'Close' }))).toBe(false)
  })
})

describe('a terminal', () => {
  test('keeps its tabs where they are, counts what is found, and says calmly that its shell has ended', async () => {
    await visitor.open('/boxes/yard/one/terminal?session=zeta', 'yard/one')
    await visitor.type('echo find-me find-me')
    await untilOnScreen(visitor, 'find-me find-me')
    await visitor.open('/boxes/yard/one/terminal?session=alpha', 'yard/one')
    await visitor.type('for n in 1 2 3; do echo find-$((40 + n)) find-me; done')
    await untilOnScreen(visitor, 'find-43')
    const tabs = user.page.getByRole('navigation', { name: 'Sessions' }).getByRole('link')
    await visitor.open('/boxes/yard/one/terminal?session=alpha', 'yard/one')
    const names = async (): Promise<string[]> => (await tabs.allInnerTexts()).filter((name) => /zeta|alpha/.test(name))
    await eventually(async () => (await names()).join() === 'zeta,alpha')
    await untilOnScreen(visitor, 'find-43')
    await user.page.locator('[data-state="open"]').waitFor()
    await user.page.keyboard.press('Control+Shift+F')
    await user.page.getByLabel('Find in the terminal').fill('find-me')
    await user.page.getByText(/^\d of 4$/).waitFor()
    expect(await user.page.locator('.xterm-find-result-decoration').count()).toBeGreaterThan(1)
    await button('Close').click()
    await visitor.type('clear; exit 7')
    const ended = user.page.getByText('Shell exited (7)')
    await ended.waitFor()
    const [bar, place] = [await ended.boundingBox(), await user.page.locator('.xterm').boundingBox()]
    expect(bar?.y ?? 0).toBeGreaterThanOrEqual((place?.y ?? 0) + (place?.height ?? 0) - 1)
    await button('Start a new shell').waitFor()
  })
})
