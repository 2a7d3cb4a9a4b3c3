import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { installSdk, type UserDirectory } from '../helpers/clients/installed-sdk.ts'
import { useScriptPage } from '../helpers/clients/script-page.ts'
import { SDK_PROGRAM, SDK_PROGRAM_SEES } from '../helpers/clients/sdk-program.ts'
import { useBrowser } from '../helpers/edge/browser.ts'
import { useOwnService } from '../helpers/own-service.ts'

const page = useScriptPage()
const { service } = useOwnService(async () => ({ settings: { BOXYARD_CORS_ORIGINS: await page.open() } }))
const { newUser } = useBrowser('runtimes.test')
let user: UserDirectory
let script: string

beforeAll(async () => {
  user = await installSdk()
  await user.compile({ program: SDK_PROGRAM, restarted: RESTARTED, app: APP })
  script = await page.setScript(user.path, 'app')
})
afterAll(() => user.close())

interface App {
  tryOut(url: string, token: string, name: string): Promise<unknown[]>
  overRestart(url: string, token: string): Promise<unknown>
}

const LINES = Array.from({ length: 40 }, (_, i) => `line-${i}\n`).join('')
/** Streams a command while a function of the page kills and restarts the agent. */
const RESTARTED = `
import { createBoxyard } from '@boxyard/sdk'

declare const restartAgent: () => Promise<void>

export async function overRestart(url: string, token: string): Promise<unknown> {
  const box = await createBoxyard({ url, token }).createBox('runtimes', { name: 'restarted', config: { ram_mb: 64 } })
  const line = 'read word; i=0; while [ $i -lt 40 ]; do echo line-$i; i=$((i+1)); sleep 0.1; done; exit 5'
  const stream = await box.stream(['sh', '-c', line], { stdin: true, noHup: true })
  await stream.write(new TextEncoder().encode('go\\n'))
  let text = ''
  let restart: Promise<void> | null = null
  for await (const { bytes } of stream) {
    text += new TextDecoder().decode(bytes)
    if (text.includes('line-2')) restart ??= restartAgent()
  }
  await restart
  const lost = await stream.write(Uint8Array.of(1)).then(() => 'sent', (error: unknown) => (error as Error).name)
  return { text, ...(await stream.ended()), id: stream.id?.slice(0, 4), lost }
}
`
const APP = `export * from './program.js'\nexport * from './restarted.js'\n`

describe('the packed SDK in a page of another origin', () => {
  test('needs no module of Node.js', () => {
    expect(script).toContain('tryOut')
    expect(script).not.toMatch(/["'`]node:/)
  })

  test('calls with a bearer token, streams commands and files by tickets, and follows events', async () => {
    const { page: tab, complaints } = await newUser()
    await tab.goto(page.origin())
    const seen = await tab.evaluate(
      ({ url, token }) => (globalThis as unknown as { app: App }).app.tryOut(url, token, 'page'),
      { url: service().url, token: service().adminToken },
    )
    // A browser shows no header of a WebSocket's answer, so the ticket provides the id.
    expect(seen).toEqual([...SDK_PROGRAM_SEES, 'exe_'])
    expect(complaints).toEqual([])
  })

  test('the stream of a command with noHup goes on over an agent that is killed', async () => {
    const { page: tab } = await newUser()
    await tab.goto(page.origin())
    await tab.exposeFunction('restartAgent', async () => {
      await service().killAgent()
      await service().startAgent()
    })
    const seen = await tab.evaluate(
      ({ url, token }) => (globalThis as unknown as { app: App }).app.overRestart(url, token),
      { url: service().url, token: service().adminToken },
    )
    expect(seen).toEqual({ text: LINES, exitCode: 5, message: null, id: 'exe_', lost: 'ConnectionError' })
  })
})
