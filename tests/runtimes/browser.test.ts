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
  user = installSdk()
  await user.compile({ program: SDK_PROGRAM })
  script = await page.setScript(user.path, 'program')
})
afterAll(() => user.close())

interface App {
  tryOut(url: string, token: string, name: string): Promise<unknown[]>
}

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
    // A browser tells no header of a WebSocket's answer, and so no id.
    expect(seen).toEqual([...SDK_PROGRAM_SEES, null])
    expect(complaints).toEqual([])
  })
})
