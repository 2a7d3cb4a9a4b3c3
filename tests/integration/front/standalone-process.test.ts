import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createTokenKeys, publicTokenKeys } from '../../../shared/auth/keys.ts'
import { mintToken, type TokenClaims } from '../../../shared/auth/tokens.ts'
import { jsonResponse } from '../../../shared/http/messages.ts'
import { eventually } from '../../helpers/eventually.ts'
import { type FakeAgent, startFakeAgent } from '../../helpers/front/fake-agent.ts'
import { makeDeployment } from '../../helpers/front/test-front.ts'
import { freePort } from '../../helpers/service.ts'
import { bindDatagrams } from '../../helpers/systemd/datagrams.ts'

const SCRIPT = join(import.meta.dirname, '../../../functions/standalone.ts')
const CLAIMS: TokenClaims = { jti: 'tok_1', sub: 't', projects: '*', permissions: ['read'], iat: 1, exp: null }
const deployment = makeDeployment()
const directory = mkdtempSync(join(tmpdir(), 'standalone-'))
const keys = join(directory, 'keys')
const front: { child: ChildProcess | null; stdout: string; stderr: string } = { child: null, stdout: '', stderr: '' }
let agent: FakeAgent

beforeAll(() => mkdirSync(keys))
afterAll(() => rmSync(directory, { recursive: true }))

beforeEach(async () => {
  writeFileSync(join(keys, 'channel.json'), JSON.stringify(deployment.channelKeys))
  writeFileSync(join(keys, 'token-public.json'), JSON.stringify(deployment.keyring.tokens()))
  agent = await startFakeAgent(() => deployment.channelKeys)
})

afterEach(async () => {
  if (front.child?.exitCode === null && front.child.signalCode === null) {
    front.child.kill('SIGKILL')
    await once(front.child, 'exit')
  }
  await agent.close()
})

/** Starts a front. Returns its address, or undefined if it exited first. */
async function start(settings: Record<string, string> = {}): Promise<string | undefined> {
  const env = { BOXYARD_DATA_DIR: directory, BOXYARD_PORT: '0', BOXYARD_AGENT_URL: agent.url, ...settings }
  const child = spawn(process.execPath, [SCRIPT], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  Object.assign(front, { child, stdout: '', stderr: '' })
  child.stdout.on('data', (chunk) => (front.stdout += String(chunk)))
  return new Promise((resolve) => {
    child.stderr.on('data', (chunk) => {
      front.stderr += String(chunk)
      const ready = lines().find((line) => line.ready === true)
      if (ready) resolve(String(ready.url))
    })
    child.once('close', () => resolve(undefined))
  })
}

function lines(): Record<string, unknown>[] {
  const whole = front.stderr.slice(0, front.stderr.lastIndexOf('\n') + 1)
  return whole
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

async function get(url: string, token?: string): Promise<Response> {
  return fetch(`${url}/v1/me`, { headers: { authorization: `Bearer ${token ?? (await deployment.mint())}` } })
}

/** Makes the agent hold its answers until `release`. `asked` resolves once a request has reached the agent. */
function holdAnswers(): { asked: Promise<void>; release(): void } {
  const [asked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  agent.respond = async () => {
    asked.resolve()
    await released.promise
    return jsonResponse(200, {})
  }
  return { asked: asked.promise, release: released.resolve }
}

async function untilStopping(): Promise<void> {
  await eventually(() => lines().some(({ message }) => message === 'The front is stopping'))
}

async function exitOf(): Promise<number | null> {
  if (!front.child) throw new Error('no front was started')
  const [code] = (await once(front.child, 'exit')) as [number | null]
  return code
}

describe('the standalone front', () => {
  test('serves with the keys of the data directory, and writes only JSON to stderr at any log level', async () => {
    const url = await start({ BOXYARD_LOG_LEVEL: 'error' })
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    const answer = await get(String(url))
    expect(answer.status).toBe(200)
    expect(await answer.json()).toEqual({ target: '/v1/me' })
    expect(lines()).toHaveLength(1)
    expect(front.stdout).toBe('')
  })

  test('audits a denial at any log level', async () => {
    const url = String(await start({ BOXYARD_LOG_LEVEL: 'error' }))
    expect((await get(url, 'x.y.z')).status).toBe(401)
    expect(lines().slice(1)).toMatchObject([{ audit: true, operation: 'getMe', actor: null, code: 'token_invalid' }])
  })

  test('takes a token signed by a key that came after its start', async () => {
    const url = String(await start())
    const next = createTokenKeys()
    const token = await mintToken(next, CLAIMS)
    expect((await get(url, token)).status).toBe(401)
    writeFileSync(join(keys, 'token-public.json'), JSON.stringify(publicTokenKeys(next)))
    await eventually(async () => (await get(url, token)).status === 200)
  })

  test('finishes requests in flight after SIGTERM, takes no others, and exits with 0', async () => {
    const held = holdAnswers()
    const url = String(await start())
    const inFlight = get(url)
    await held.asked
    const exited = exitOf()
    front.child?.kill('SIGTERM')
    await untilStopping()
    await expect(get(url)).rejects.toThrow()
    held.release()
    const answer = await inFlight
    expect(answer.status).toBe(200)
    expect(answer.headers.get('connection')).toBe('close')
    expect(await exited).toBe(0)
  })

  test('ends at once at a second signal', async () => {
    const held = holdAnswers()
    const url = String(await start())
    const cutOff = expect(get(url)).rejects.toThrow()
    await held.asked
    const exited = exitOf()
    front.child?.kill('SIGTERM')
    await untilStopping()
    front.child?.kill('SIGTERM')
    expect(await exited).toBe(1)
    await cutOff
  })

  test('ends once its drain time is over', async () => {
    const held = holdAnswers()
    const url = String(await start({ BOXYARD_DRAIN_SECONDS: '1' }))
    const cutOff = expect(get(url)).rejects.toThrow()
    await held.asked
    const exited = exitOf()
    front.child?.kill('SIGINT')
    expect(await exited).toBe(0)
    await cutOff
  })

  test.each([
    [{ BOXYARD_PORT: 'http' }, 'BOXYARD_PORT="http"'],
    [{ BOXYARD_CORS_ORIGINS: '*' }, 'BOXYARD_CORS_ORIGINS="*": expected exact origins'],
    [{ BOXYARD_DATA_DIR: '/nowhere' }, '/nowhere/keys/channel.json'],
  ])('cannot start with %j, and prints the reason', async (settings, reason) => {
    expect(await start(settings)).toBeUndefined()
    expect(front.child?.exitCode).toBe(1)
    expect(lines()).toMatchObject([{ level: 'error', message: expect.stringContaining(reason) }])
  })

  test('started before the agent names the missing keys, and serves when started again once they are there', async () => {
    const file = join(keys, 'channel.json')
    rmSync(file)
    expect(await start()).toBeUndefined()
    expect(lines()).toMatchObject([{ level: 'error', message: expect.stringContaining(`${file} is not readable`) }])
    writeFileSync(file, JSON.stringify(deployment.channelKeys))
    expect((await get(String(await start()))).status).toBe(200)
  })

  test('tells systemd that it serves once the agent answers, as its unit waits for', async () => {
    const address = join(directory, 'notify')
    const manager = bindDatagrams(address)
    const url = await start({ NOTIFY_SOCKET: address, PATH: process.env['PATH'] ?? '' })
    await eventually(() => manager.receive().includes(`READY=1\nSTATUS=Serving the API at ${url}`))
    expect((await get(String(url))).status).toBe(200)
    manager.close()
  })

  test('does not tell systemd that it serves while the agent does not answer', async () => {
    const address = join(directory, 'notify-early')
    const manager = bindDatagrams(address)
    const agentUrl = `http://127.0.0.1:${await freePort()}`
    const url = await start({ NOTIFY_SOCKET: address, PATH: process.env['PATH'] ?? '', BOXYARD_AGENT_URL: agentUrl })
    expect((await get(String(url))).status).toBe(503)
    expect(manager.receive()).toEqual([])
    manager.close()
  })

  test('cannot start on a port that is taken', async () => {
    expect(await start({ BOXYARD_PORT: String(agent.port) })).toBeUndefined()
    expect(lines()).toMatchObject([{ level: 'error', message: expect.stringContaining('EADDRINUSE') }])
  })
})
