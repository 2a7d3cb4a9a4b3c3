import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { ROOT } from '../../infra/commands.ts'
import { installSdk, type UserDirectory } from '../helpers/clients/installed-sdk.ts'
import { useScriptPage } from '../helpers/clients/script-page.ts'
import { type DocumentedProgram, programsIn } from '../helpers/clients/sdk-page.ts'
import { useBrowser } from '../helpers/edge/browser.ts'
import { eventually } from '../helpers/eventually.ts'
import { useOwnService } from '../helpers/own-service.ts'

const page = useScriptPage()
const { service } = useOwnService(async () => ({ settings: { BOXYARD_CORS_ORIGINS: await page.open() } }))
const { newUser } = useBrowser('runtimes.test')
let user: UserDirectory

const programs = programsIn(readFileSync(join(ROOT, 'docs/sdk.md'), 'utf8'))
const isOfPage = ({ text }: DocumentedProgram): boolean => text.includes('new EventSource(')

beforeAll(() => {
  user = installSdk()
})
afterAll(() => user.close())

/** Puts the address of this service in the place of a reader's. */
function here(text: string): string {
  return text.replaceAll('http://127.0.0.1:8080', service().url)
}

describe('the programs in docs/sdk.md', () => {
  test('are some, and print something', () => {
    expect(programs.length).toBeGreaterThan(10)
    expect(programs.filter(({ prints }) => prints.length === 0)).toEqual([])
    expect(programs.some(isOfPage)).toBe(true)
  })

  test.each(programs.filter((program) => !isOfPage(program)))(
    'line $line prints what the page shows',
    async ({ line, text, prints }) => {
      await user.compile({ [`line-${line}`]: here(text) })
      const printed = await user.run(['env', `BOXYARD_TOKEN=${service().adminToken}`, process.execPath], `line-${line}`)
      expect(printed.trimEnd().split('\n').filter(Boolean)).toEqual(prints)
    },
  )

  test.each(programs.filter(isOfPage))('line $line does so in a page', async ({ line, text, prints }) => {
    const inFunction = here(text).replace(/^(?=const boxyard)/m, 'export async function start(): Promise<void> {\n')
    await user.compile({ [`line-${line}`]: `${inFunction}}\n` })
    await page.setScript(user.path, `line-${line}`, {
      'process.env.BOXYARD_TOKEN': JSON.stringify(service().adminToken),
    })
    const { page: tab } = await newUser()
    const printed: string[] = []
    tab.on('console', (message) => printed.push(message.text()))
    await tab.goto(page.origin())
    await tab.evaluate(() => (globalThis as unknown as { app: { start(): Promise<void> } }).app.start())
    await eventually(() => printed.length >= prints.length)
    expect(printed).toEqual(expect.arrayContaining(prints))
  })
})
