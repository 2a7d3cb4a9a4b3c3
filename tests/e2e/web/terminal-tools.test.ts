import { beforeAll, describe, expect, test } from '@jest/globals'
import { eventually } from '../../helpers/eventually.ts'
import { useSharedService } from '../../helpers/own-service.ts'
import { useConsole } from '../../helpers/web/visited-console.ts'
import { untilOnScreen } from '../../helpers/web/visitor.ts'

const { client, service, user, visitor } = useConsole(useSharedService())
const { button } = visitor

beforeAll(async () => {
  await client.post('/v1/projects/tools/boxes', { name: 'one' })
})

const openTerminal = (session: string): Promise<void> =>
  visitor.open(`/boxes/tools/one/terminal?session=${session}`, 'tools/one')

describe('links on a terminal', () => {
  const opened = (): Promise<string> => user.page.evaluate<string>("globalThis.opened?.join('\\n') ?? ''")
  const noteOpened = (): Promise<void> =>
    user.page.evaluate(`
      globalThis.opened = []
      globalThis.open = (address, target, features) => {
        globalThis.opened.push([address, target, features].join(' '))
        return null
      }`)
  /** Waits for the row that begins with a text, and returns a position in it. */
  const placeOf = async (text: string): Promise<{ x: number; y: number }> => {
    const box = await user.page
      .locator('.xterm-rows > div')
      .filter({ hasText: new RegExp(`^${text.replaceAll('.', '\\.')}`) })
      .first()
      .boundingBox()
    if (box === null) throw new Error(`No row begins with ${text}.`)
    return { x: box.x + box.height, y: box.y + box.height / 2 }
  }
  const hoverAndClick = async (text: string, modifiers: ('Control' | 'Shift')[]): Promise<void> => {
    const { x, y } = await placeOf(text)
    await user.page.mouse.move(x + 4, y)
    await user.page.mouse.move(x, y)
    await visitor.sees(/^Ctrl-click opens/)
    for (const key of modifiers) await user.page.keyboard.down(key)
    await user.page.mouse.click(x, y)
    for (const key of modifiers) await user.page.keyboard.up(key)
  }

  test('open with Ctrl alone, in a tab of their own, and a hidden target is shown', async () => {
    await openTerminal('links')
    await visitor.type(
      "printf '\\033[H\\033[2J%s\\n' https://example.test/a; printf '\\033]8;;https://hidden.test/b\\007my-bank\\033]8;;\\007\\n'",
    )
    await untilOnScreen(visitor, 'my-bank')
    await noteOpened()
    await hoverAndClick('https://example.test/a', [])
    expect(await opened()).toBe('')
    await hoverAndClick('https://example.test/a', ['Control'])
    expect(await opened()).toBe('https://example.test/a _blank noopener,noreferrer')
    await hoverAndClick('my-bank', [])
    await visitor.sees('Ctrl-click opens https://hidden.test/b')
  })

  test('of the own machine lead to the box, never to the machine of the user', async () => {
    // A private URL opens only after its ticket has arrived (ways.test.ts).
    const { body } = await client.put('/v1/projects/tools/boxes/one', { url_settings: { auth: 'public' } })
    await openTerminal('links')
    await visitor.type("printf '\\033[H\\033[2J%s\\n%s\\n' http://localhost:8080/app?x=1 http://127.0.0.1:5173/")
    await untilOnScreen(visitor, 'http://127.0.0.1:5173/')
    await noteOpened()
    await hoverAndClick('http://localhost:8080/app', ['Control'])
    expect(await opened()).toBe(`${new URL('/app?x=1', body.url).href} _blank noopener,noreferrer`)
    await hoverAndClick('http://127.0.0.1:5173/', ['Control'])
    await visitor.sees(/boxyard port-forward one 5173/)
  })
})

describe('a terminal', () => {
  const sizePx = (): Promise<number> =>
    user.page.evaluate<number>("parseFloat(getComputedStyle(document.querySelector('.xterm-rows')).fontSize)")

  test('has larger and smaller letters, which the browser remembers', async () => {
    await openTerminal('main')
    await visitor.type('true')
    expect(await sizePx()).toBe(13)
    await visitor.press('Larger text')
    await user.page.keyboard.press('Control+Shift+Equal')
    await eventually(async () => (await sizePx()) >= 14)
    await openTerminal('main')
    await visitor.type('true')
    expect(await sizePx()).toBeGreaterThan(13)
    await user.page.keyboard.press('Control+Shift+Digit0')
    await eventually(async () => (await sizePx()) === 13)
  })

  test('is split, both parts attached, and is one again', async () => {
    await user.page.setViewportSize({ width: 1280, height: 800 })
    await openTerminal('main')
    await visitor.press('Split right')
    const parts = user.page.getByRole('region', { name: /^Terminal (main|shell-\d+)$/ })
    await eventually(async () => (await parts.count()) === 2)
    await eventually(async () => (await user.page.locator('[data-state="open"]').count()) === 2)
    const [first, second] = await Promise.all([parts.nth(0).boundingBox(), parts.nth(1).boundingBox()])
    expect(second?.x).toBeGreaterThanOrEqual((first?.x ?? 0) + (first?.width ?? 0))
    await visitor.press('Split below')
    await eventually(
      async () => ((await parts.nth(1).boundingBox())?.y ?? 0) > ((await parts.nth(0).boundingBox())?.y ?? 0),
    )
    await visitor.press('Close the split')
    await eventually(async () => (await parts.count()) === 1)
  })

  test('takes the whole window, and gives it back', async () => {
    await openTerminal('main')
    await visitor.press('Full screen')
    await button('Leave full screen').waitFor()
    await eventually(() =>
      user.page.evaluate<boolean>(`(() => {
        const { left, right } = document.querySelector('.xterm').getBoundingClientRect()
        return left === 0 && right === innerWidth
      })()`),
    )
    await visitor.press('Leave full screen')
    await button('Full screen').waitFor()
  })

  test('opens in the directory that is looked at', async () => {
    await user.page.goto(`${service().url}/boxes/tools/one/files?path=/usr/bin`, { waitUntil: 'commit' })
    await user.page.getByRole('link', { name: 'Open terminal here' }).click()
    await visitor.type('pwd')
    await untilOnScreen(visitor, '/usr/bin')
    expect(new URL(user.page.url()).searchParams.get('session')).toMatch(/^shell-\d+$/)
  })

  test('has the keys that the keyboard of a phone lacks', async () => {
    await user.page.setViewportSize({ width: 390, height: 844 })
    const devtools = await user.context.newCDPSession(user.page)
    await devtools.send('Emulation.setTouchEmulationEnabled', { enabled: true })
    await openTerminal('phone')
    await visitor.type('cat -v')
    await visitor.press('Esc')
    await visitor.press('Up')
    await visitor.press('Tab')
    await user.page.keyboard.type('x\n')
    await untilOnScreen(visitor, '^[^[[A')
    await visitor.press('Ctrl')
    expect(await button('Ctrl').getAttribute('aria-pressed')).toBe('true')
    await user.page.keyboard.type('c')
    expect(await button('Ctrl').getAttribute('aria-pressed')).toBe('false')
    await visitor.type('echo over-$((1 + 1))')
    await untilOnScreen(visitor, 'over-2')
  })
})
