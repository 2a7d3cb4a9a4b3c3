import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { ROOT } from '../../infra/commands.ts'
import { readLoop } from '../helpers/clients/agent-loop.ts'
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

beforeAll(async () => {
  user = await installSdk()
  // The compiler reads the types of the SDK and of Node.js once for all programs. This takes far longer than a program.
  const modules = programs.map((program) => [moduleOf(program), sourceOf(program)])
  // tests/e2e/clients/agent-loop.test.ts runs this program with a Node.js that does not check types.
  await user.compile({ ...Object.fromEntries(modules), 'agent-loop': readLoop('agent.mts').text })
})
afterAll(() => user.close())

function moduleOf({ line }: DocumentedProgram): string {
  return `line-${line}`
}

/** Returns a program with this service's address in place of the reader's. A program for a page becomes a function. */
function sourceOf(program: DocumentedProgram): string {
  const { url, dataDir } = service()
  const text = program.text
    .replaceAll('http://127.0.0.1:8080', url)
    .replaceAll('127.0.0.1:8080', new URL(url).host)
    .replaceAll('/var/lib/boxyard', dataDir)
  if (!isOfPage(program)) return text
  return `${text.replace(/^(?=const boxyard)/m, 'export async function start(): Promise<void> {\n')}}\n`
}

describe('the programs in docs/sdk.md', () => {
  test('are some, and print something', () => {
    expect(programs.length).toBeGreaterThan(10)
    expect(programs.filter(({ prints }) => prints.length === 0)).toEqual([])
    expect(programs.some(isOfPage)).toBe(true)
  })

  test.each(programs.filter((program) => !isOfPage(program)))(
    'line $line prints what the page shows',
    async (program) => {
      const node = ['env', `BOXYARD_TOKEN=${service().adminToken}`, process.execPath]
      const printed = await user.run(node, moduleOf(program))
      expect(printed.trimEnd().split('\n').filter(Boolean)).toEqual(program.prints)
    },
  )

  test.each(programs.filter(isOfPage))('line $line does so in a page', async (program) => {
    await page.setScript(user.path, moduleOf(program), {
      'process.env.BOXYARD_TOKEN': JSON.stringify(service().adminToken),
    })
    const { page: tab } = await newUser()
    const printed: string[] = []
    tab.on('console', (message) => printed.push(message.text()))
    await tab.goto(page.origin())
    await tab.evaluate(() => (globalThis as unknown as { app: { start(): Promise<void> } }).app.start())
    await eventually(() => printed.length >= program.prints.length)
    expect(printed).toEqual(expect.arrayContaining(program.prints))
  })
})
