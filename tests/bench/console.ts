import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { BrowserContext, Page } from 'playwright-core'
import { CONSOLE_DIRECTORY, ensureConsole } from '../../infra/web/build.ts'
import { createBoxyard } from '../../sdk/typescript/src/boxyard.ts'
import { launchChromium } from '../helpers/edge/chromium.ts'
import { type Client, createClient } from '../helpers/front/client.ts'
import { startService, type TestService } from '../helpers/service.ts'
import { visitorOf } from '../helpers/web/visitor.ts'
import { BENCH_SETTINGS } from './context.ts'
import { percentile, report, summary } from './figures.ts'

interface ConsoleBench {
  service: TestService
  client: Client
  context: BrowserContext
  page: Page
}

/** Measures the web console in Chromium, on a real service with real boxes. */
export async function benchConsole(): Promise<void> {
  ensureConsole()
  const service = await startService({ settings: { ...BENCH_SETTINGS, BOXYARD_CONSOLE_DIR: CONSOLE_DIRECTORY } })
  const client = createClient(
    () => service.url,
    () => service.adminToken,
  )
  const browser = await launchChromium([])
  try {
    for (const name of ['web', 'api', 'db']) await client.post('/v1/projects/demo/boxes', { name })
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
    const page = await context.newPage()
    const bench = { service, client, context, page }
    const { body } = await client.post('/v1/session/links')
    await visitorOf({ page }, () => service).signInBy(body.ticket)
    await measureLoads(bench)
    await measureChanges(bench)
    await measureEcho(bench)
    await measureFlood(bench)
    await measureLongList(bench)
    await measureIdle(bench)
  } finally {
    await browser.end()
    await service.close()
  }
}

async function arrive(page: Page, url: string, heading: string): Promise<void> {
  await page.goto(url, { waitUntil: 'commit' })
  await page.getByRole('heading', { name: heading, exact: true }).first().waitFor()
}

/** Measures the gzip size of the first page, and the time until it is interactive, with an empty cache. */
async function measureLoads({ service, context }: ConsoleBench): Promise<void> {
  const times: number[] = []
  let gzipBytes = 0
  for (let round = 0; round < LOADS; round++) {
    const page = await context.newPage()
    const session = await context.newCDPSession(page)
    await session.send('Network.enable')
    await session.send('Network.setCacheDisabled', { cacheDisabled: true })
    const paths: string[] = []
    page.on('response', (answer) => paths.push(new URL(answer.url()).pathname))
    await page.goto(`${service.url}/`, { waitUntil: 'commit' })
    // Uses the page's own clock. Ends at the first frame in which the page has its content and responds.
    times.push(await run<number>(page, INTERACTIVE))
    const files = paths.map((path) => join(CONSOLE_DIRECTORY, `${path === '/' ? '/index.html' : path}.gz`))
    gzipBytes = files.filter((file) => existsSync(file)).reduce((sum, file) => sum + statSync(file).size, 0)
    await page.close()
  }
  const kib = gzipBytes / 1024
  report('console: first load, gzip', `${kib.toFixed(0)} KiB`, '200 KB', gzipBytes <= 200_000)
  report('console: interactive, empty cache', summary(times), 'p50 1 s', percentile(times, 0.5) <= 1000)
}

/** Measures the time from the response to a change until the page of the box shows it. */
async function measureChanges({ service, client, page }: ConsoleBench): Promise<void> {
  await arrive(page, `${service.url}/boxes`, 'Boxes')
  await page.getByText('Live').waitFor()
  const times: number[] = []
  for (let round = 0; round < CHANGES; round++) {
    const word = round % 2 === 0 ? 'stopped' : 'running'
    const seen = run<number>(page, SEEN, ['[role="row"]', 'demo/web', word])
    await client.post(`/v1/projects/demo/boxes/web/${round % 2 === 0 ? 'stop' : 'resume'}`)
    const changed = Date.now()
    times.push(Math.max(0, (await seen) - changed))
  }
  report('console: a status change is on screen', summary(times), 'p95 250 ms', percentile(times, 0.95) <= 250)
}

/** Measures the time from a key to its echo in the terminal, minus the same time over a bare WebSocket. */
async function measureEcho({ service, page }: ConsoleBench): Promise<void> {
  const own = await echoOfSocket(service)
  await arrive(page, `${service.url}/boxes/demo/api/terminal?session=echo`, 'demo/api')
  await page.locator('[data-state="open"]').waitFor()
  await page.locator('.xterm-helper-textarea').focus()
  await page.keyboard.type('cat\n')
  await pause(500)
  const times: number[] = []
  for (let round = 0; round < KEYS; round++) {
    await run(page, LISTEN)
    await page.keyboard.press('abcdefghij'[round % 10] ?? 'a')
    times.push(await page.evaluate<number>('globalThis.echo'))
    if (round % 40 === 39) await page.keyboard.press('Enter')
    await pause(30)
  }
  const above = percentile(times, 0.5) - percentile(own, 0.5)
  report('console: echo in the terminal', `${summary(times)}, above ${above.toFixed(1)}`, '30 ms above', above <= 30)
}

async function echoOfSocket(service: TestService): Promise<number[]> {
  const box = createBoxyard({ url: service.url, token: service.adminToken }).box('demo', 'api')
  const stream = await box.console({ session: 'echo-own', cols: 80, rows: 24 })
  const times: number[] = []
  const output = stream[Symbol.asyncIterator]()
  let text = ''
  const until = async (has: () => boolean): Promise<void> => {
    while (!has()) {
      const { value, done } = await output.next()
      if (done === true) throw new Error('the session has ended')
      text += Buffer.from(value.bytes).toString()
    }
  }
  await stream.write(Buffer.from('echo ready-$((1 + 1)); cat\n'))
  await until(() => text.includes('ready-2'))
  text = ''
  for (let round = 0; round < KEYS; round++) {
    const start = performance.now()
    await stream.write(Buffer.from('x'))
    await until(() => text.length > round)
    times.push(performance.now() - start)
  }
  stream.close()
  return times
}

/** Measures the frames of the page while `yes` runs in its terminal, and the time from Ctrl-C to the next command's output. */
async function measureFlood({ service, page }: ConsoleBench): Promise<void> {
  await arrive(page, `${service.url}/boxes/demo/api/terminal?session=flood`, 'demo/api')
  await page.locator('[data-state="open"]').waitFor()
  await page.locator('.xterm-helper-textarea').focus()
  await page.keyboard.type('yes\n')
  await pause(1_000)
  const gaps = await run<number[]>(page, FRAMES, { ms: 5_000, scrollPx: 0 })
  await page.keyboard.press('Control+c')
  report('console: frames while `yes` runs', summary(gaps), 'p95 200 ms', percentile(gaps, 0.95) <= 200)
  const interrupts: number[] = []
  for (let round = 0; round < INTERRUPTS; round++) {
    await page.keyboard.type('yes\n')
    await pause(2_000)
    const start = performance.now()
    await page.keyboard.press('Control+c')
    await page.keyboard.type('id\n')
    await page.locator('.xterm-rows', { hasText: 'uid=' }).waitFor()
    interrupts.push(performance.now() - start)
  }
  const median = percentile(interrupts, 0.5)
  report('console: from Ctrl-C in `yes` to what is typed next', summary(interrupts), '≤ 500 ms', median <= 500)
}

/** Measures the frames while a list of 10,000 boxes scrolls. Replaces the service's response with these boxes. */
async function measureLongList({ service, client, page }: ConsoleBench): Promise<void> {
  const { body } = await client.get('/v1/projects/demo/boxes/web')
  const boxes = Array.from({ length: 10_000 }, (_, index) => ({
    ...body,
    id: `${body.id}-${index}`,
    name: `box-${String(index).padStart(5, '0')}`,
  }))
  await page.route('**/v1/projects/-/boxes?*', (route) =>
    route.fulfill({ json: { boxes, has_more: false, next_continuation_token: null } }),
  )
  await arrive(page, `${service.url}/boxes`, 'Boxes')
  await page.getByText('10000 boxes').waitFor()
  const gaps = await run<number[]>(page, FRAMES, { ms: 5_000, scrollPx: 90 })
  await page.unroute('**/v1/projects/-/boxes?*')
  const perSecond = 1000 / percentile(gaps, 0.5)
  const measured = `${perSecond.toFixed(0)} a second; ${summary(gaps)}`
  report('console: frames while 10,000 boxes scroll', measured, '60 a second', perSecond >= 58)
}

/** Counts the requests of an idle page in a minute. */
async function measureIdle({ service, page }: ConsoleBench): Promise<void> {
  await arrive(page, `${service.url}/`, 'Overview')
  // The files of all pages have loaded by then.
  await pause(10_000)
  let count = 0
  page.on('request', () => count++)
  await pause(60_000)
  report('console: requests of an idle tab in a minute', String(count), '1', count <= 1)
}

/** Runs a function in the page with a value, and returns its result. */
function run<T>(page: Page, program: string, given?: unknown): Promise<T> {
  return page.evaluate<T>(`(${program})(${JSON.stringify(given)})`)
}

const LOADS = 10
const CHANGES = 20
const KEYS = 100
const INTERRUPTS = 5

/** Functions of the page. They are text, because their types are a browser's. */
const INTERACTIVE = `() => new Promise((resolve) => {
  const look = () => document.querySelector('h1') && document.querySelector('[role="meter"]')
    ? requestAnimationFrame(() => setTimeout(() => resolve(performance.now())))
    : requestAnimationFrame(look)
  look()
})`
const SEEN = `([rows, name, word]) => new Promise((resolve) => {
  const look = () => {
    const found = [...document.querySelectorAll(rows)].some((row) => row.textContent.includes(name) && row.textContent.includes(word))
    if (found) requestAnimationFrame(() => resolve(Date.now()))
    return found
  }
  if (look()) return
  const observer = new MutationObserver(() => look() && observer.disconnect())
  observer.observe(document.body, { subtree: true, childList: true, characterData: true })
})`
const LISTEN = `() => void (globalThis.echo = new Promise((resolve) => {
  let start = null
  addEventListener('keydown', () => { start = performance.now() }, { capture: true, once: true })
  const observer = new MutationObserver(() => {
    if (start === null) return
    observer.disconnect()
    resolve(performance.now() - start)
  })
  observer.observe(document.querySelector('.xterm-rows'), { subtree: true, childList: true, characterData: true })
}))`
const FRAMES = `({ ms, scrollPx }) => new Promise((resolve) => {
  const gaps = []
  const begin = performance.now()
  let last = begin
  const step = (now) => {
    gaps.push(now - last)
    last = now
    window.scrollBy(0, scrollPx)
    if (now - begin < ms) requestAnimationFrame(step)
    else resolve(gaps.slice(1))
  }
  requestAnimationFrame(step)
})`
