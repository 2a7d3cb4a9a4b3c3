import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually, untilSucceeds } from '../../helpers/eventually.ts'
import { type CuttableLine, openCuttableLine } from '../../helpers/front/cuttable-line.ts'
import { useSharedService } from '../../helpers/own-service.ts'
import { useConsole } from '../../helpers/web/visited-console.ts'
import { untilOnScreen, visitorOf } from '../../helpers/web/visitor.ts'

const { client, service, user, visitor } = useConsole(useSharedService())
const { button } = visitor

beforeAll(async () => {
  await client.post('/v1/projects/yard/boxes', { name: 'one' })
})

const openTerminal = (session: string): Promise<void> =>
  visitor.open(`/boxes/yard/one/terminal?session=${session}`, 'yard/one')

/**
 * Measures how the terminal fits its window. Returns by how many pixels the page scrolls, whether rows are cut off, and whether they fill
 * the window.
 */
const FIT = `(() => {
  const { bottom, height } = document.querySelector('.xterm-screen').getBoundingClientRect()
  const rows = document.querySelectorAll('.xterm-rows > div').length
  const unused = innerHeight - bottom
  return { scrolls: document.documentElement.scrollHeight - innerHeight, isCut: unused < 0, isFull: unused < 8 + height / rows, rows }
})()`

describe('the place of a terminal', () => {
  const fits = (width: number, height: number): Promise<void> =>
    untilSucceeds(async () => {
      const fit = await user.page.evaluate<{ rows: number }>(FIT)
      expect({ width, height, ...fit }).toEqual({
        ...{ width, height, scrolls: 0, isCut: false, isFull: true },
        rows: expect.any(Number),
      })
      expect(fit.rows).toBeGreaterThan(1)
    })

  test.each([
    [1440, 1080],
    [1280, 600],
    [1280, 320],
    [390, 844],
    [390, 330],
  ])('is all of the window below the head of the page, and no more: loaded at %d × %d', async (width, height) => {
    await user.page.setViewportSize({ width, height })
    await openTerminal('main')
    await fits(width, height)
  })

  test('follows the window, smaller as well as larger, and the shell with it', async () => {
    await user.page.setViewportSize({ width: 1440, height: 900 })
    await openTerminal('main')
    for (const height of [900, 700, 600, 1000, 750, 400, 260, 660]) {
      await user.page.setViewportSize({ width: 1440, height })
      await fits(1440, height)
    }
    await visitor.type('stty size')
    const { rows } = await user.page.evaluate<{ rows: number }>(FIT)
    await eventually(async () => new RegExp(`^${rows} \\d+$`, 'm').test(await visitor.screen()))
  })

  test('ends above a keyboard that lies on the page', async () => {
    await user.page.setViewportSize({ width: 390, height: 844 })
    await openTerminal('main')
    await fits(390, 844)
    const { rows } = await user.page.evaluate<{ rows: number }>(FIT)
    await user.page.evaluate(`
      Object.defineProperty(visualViewport, 'height', { value: innerHeight - 300 })
      visualViewport.dispatchEvent(new Event('resize'))`)
    await eventually(async () => (await user.page.evaluate<{ rows: number }>(FIT)).rows < rows - 10)
    const bottom = await user.page.evaluate<number>(
      "document.querySelector('.xterm-screen').getBoundingClientRect().bottom",
    )
    expect(bottom).toBeLessThanOrEqual(544)
  })
})

describe('wide characters', () => {
  test('take the cells that they are drawn in', async () => {
    const lines = ['abcd|', '😀😀|', '漢字|', '❤️⚠️|', '👍🏽🇩🇪|', '👩‍👩‍👧🫠|', 'e\u0301bcd|']
    await client.shell('yard', 'one', `printf '%s\\n' ${lines.map((line) => `'${line}'`).join(' ')} > /srv/wide`)
    await openTerminal('wide')
    await visitor.type('clear; cat /srv/wide; echo shown-$((1 + 1))')
    await untilOnScreen(visitor, 'shown-2')
    const places = await user.page.evaluate<number[]>(`[...document.querySelectorAll('.xterm-rows > div')]
      .filter((row) => row.textContent.trimEnd().endsWith('|'))
      .map((row) => {
        const texts = document.createTreeWalker(row, NodeFilter.SHOW_TEXT)
        const range = document.createRange()
        for (let text = texts.nextNode(); text; text = texts.nextNode()) {
          const at = text.data.indexOf('|')
          if (at >= 0) range.setStart(text, at), range.setEnd(text, at + 1)
        }
        return Math.round(range.getBoundingClientRect().left)
      })`)
    expect(places).toEqual(lines.map(() => places[0]))
  })
})

/** Makes the tests' emulated GPU look like a real one. */
const WITH_GPU = `
  const { getParameter } = WebGL2RenderingContext.prototype
  WebGL2RenderingContext.prototype.getParameter = function (name) {
    return name === 0x9246 ? 'A graphics processor' : getParameter.call(this, name)
  }`

describe('a graphics processor', () => {
  test('draws the terminal, and elements do once it is lost', async () => {
    await user.context.addInitScript(WITH_GPU)
    await openTerminal('drawn')
    await eventually(async () => (await user.page.locator('.xterm-rows').count()) === 0)
    await visitor.type('echo drawn-$((1 + 1))')
    await user.page.evaluate(`for (const canvas of document.querySelectorAll('.xterm-screen canvas'))
      canvas.getContext('webgl2')?.getExtension('WEBGL_lose_context')?.loseContext()`)
    await user.page.locator('.xterm-rows').waitFor()
    await untilOnScreen(visitor, 'drawn-2')
  })

  test('that is emulated draws nothing', async () => {
    const loaded: string[] = []
    user.page.on('request', (request) => loaded.push(request.url()))
    await openTerminal('drawn')
    await visitor.type('echo drawn-$((1 + 2))')
    await untilOnScreen(visitor, 'drawn-3')
    expect(loaded.filter((url) => url.includes('webgl'))).toEqual([])
  })
})

describe('a flood of output', () => {
  test.each([
    ['Ctrl-C', 'Control+c'],
    ['Ctrl-\\', 'Control+Backslash'],
  ])('ends soon after %s, and what is typed next is not lost', async (_name, key) => {
    await openTerminal(`flood-${key.length}`)
    let attempt = 0
    // Other load may slow one attempt down, but a queue of output would slow all of them.
    await untilSucceeds(async () => {
      attempt++
      await visitor.type('yes $(seq 30)')
      await pause(3_000)
      const begin = Date.now()
      await user.page.keyboard.press(key)
      await user.page.keyboard.type(`echo over-$((${attempt} + 1))\n`)
      await untilOnScreen(visitor, `over-${attempt + 1}`)
      expect(Date.now() - begin).toBeLessThan(3_000)
    })
  })
})

describe('a connection that is dead', () => {
  let line: CuttableLine
  beforeAll(async () => {
    line = await openCuttableLine('127.0.0.1', Number(new URL(service().url).port))
  })
  afterAll(() => line.close())

  test.each(['all', 'open'] as const)('is noticed, and what is typed into it is told: %s', async (which) => {
    const url = `http://127.0.0.1:${line.port}`
    const { body } = await client.post('/v1/session/links')
    const lossy = visitorOf(user, () => ({ url }))
    await user.context.clearCookies()
    await lossy.signInBy(body.ticket)
    await lossy.open(`/boxes/yard/one/terminal?session=dead-${which}`, 'yard/one')
    await lossy.type('echo before-$((1 + 1))')
    await untilOnScreen(lossy, 'before-2')
    // Either nothing passes any more, or nothing returns although a new connection would work.
    if (which === 'all') line.freeze()
    else line.mute()
    const begin = Date.now()
    await user.page.keyboard.type('echo lost\n')
    await lossy.sees(/no longer answers|may not have arrived/)
    expect(Date.now() - begin).toBeLessThan(15_000)
    await lossy.sees('The last keys before the connection was lost may not have arrived.')
    if (which === 'all') {
      await user.page.keyboard.type('echo kept-$((1 + 1))\n')
      await lossy.sees('Keys that you typed after the connection was lost were not sent.')
      await line.mend()
    }
    await user.page.locator('[data-state="open"]').waitFor()
    await untilOnScreen(lossy, 'before-2')
    expect(await lossy.screen()).not.toContain('kept-2')
    if (which === 'all') {
      await button('Send it now').click()
      await untilOnScreen(lossy, 'kept-2')
    } else await button('Dismiss').click()
    await eventually(async () => (await user.page.getByText('may not have arrived').count()) === 0)
  })
})
