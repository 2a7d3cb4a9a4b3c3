import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { ROOT } from '../../infra/commands.ts'
import { freePort } from '../helpers/service.ts'

/** `npm run SCRIPT` as a user runs it, with its output so far. */
interface Script {
  process: ChildProcess
  output(): string
  exited: Promise<number | null>
}

const dataDir = mkdtempSync(join(tmpdir(), 'boxyard-up-'))
const consoleDir = mkdtempSync(join(tmpdir(), 'boxyard-up-console-'))
const PAGE = '<!doctype html><title>Console</title>'
const running: Script[] = []
let settings: Record<string, string>

function runScript(script: string, more: Record<string, string> = {}): Script {
  const child = spawn('npm', ['run', '--silent', ...script.split(' ')], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...settings, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (output += data.toString()))
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve))
  const started = { process: child, output: () => output, exited }
  running.push(started)
  return started
}

async function startUp(): Promise<Script> {
  const up = runScript('up')
  await until(() => /Boxyard is ready/.test(up.output()) || up.process.exitCode !== null)
  expect(up.output()).toContain('Boxyard is ready')
  return up
}

function request(path: string, body?: unknown): Promise<Response> {
  return fetch(`http://127.0.0.1:${settings['BOXYARD_PORT']}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${readFileSync(join(dataDir, 'admin.token'), 'utf8').trim()}`,
      'content-type': 'application/json',
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

async function boxProcess(): Promise<string> {
  const exec = await request('/v1/projects/up/boxes/one/exec', { shell: 'cat /run/mark || echo none' })
  return ((await exec.json()) as { stdout: string }).stdout.trim()
}

beforeAll(async () => {
  writeFileSync(join(consoleDir, 'index.html'), PAGE)
  settings = {
    BOXYARD_DATA_DIR: dataDir,
    BOXYARD_CONSOLE_DIR: consoleDir,
    BOXYARD_PORT: String(await freePort()),
    BOXYARD_AGENT_PORT: String(await freePort()),
    BOXYARD_DATA_PORT: String(await freePort()),
    BOXYARD_METRICS_PORT: String(await freePort()),
    BOXYARD_EDGE_PORT: String(await freePort()),
    BOXYARD_BASE: 'busybox',
    BOXYARD_POOL_GB: '1',
  }
})

afterAll(async () => {
  for (const { process } of running) if (process.exitCode === null) process.kill('SIGTERM')
  await Promise.all(running.map(({ exited }) => exited))
  const down = runScript('down')
  const code = await down.exited
  for (const directory of [dataDir, consoleDir]) rmSync(directory, { recursive: true, force: true })
  expect([code, down.output()]).toEqual([0, expect.any(String)])
})

describe('npm run up', () => {
  let up: Script

  test('prints progress, then address and token file, and how to go on', async () => {
    up = await startUp()
    await until(() => up.output().includes('npm run --silent cli'))
    const url = `http://127.0.0.1:${settings['BOXYARD_PORT']}`
    expect(up.output().trim().split('\n').slice(-3)).toEqual([
      `Boxyard is ready at ${url} (admin token in ${dataDir}/admin.token)`,
      expect.stringMatching(new RegExp(`^Console: ${url}/sign-in#[\\w-]{43}$`)),
      'In another terminal: npm run --silent cli -- --help',
    ])
    expect(statSync(join(dataDir, 'admin.token')).mode & 0o777).toBe(0o600)
    expect(await (await request('/healthz')).json()).toMatchObject({
      status: expect.any(String),
      errors: expect.any(Array),
    })
  })

  test('prints a link to the console that signs in, once', async () => {
    const [, link = ''] = /^Console: (.*)$/m.exec(up.output()) ?? []
    const { origin, pathname, hash } = new URL(link)
    const page = await fetch(`${origin}${pathname}`, { headers: { accept: 'text/html' } })
    expect(await page.text()).toBe(PAGE)
    const signIn = (): Promise<Response> => fetch(`${origin}/v1/session?ticket=${hash.slice(1)}`, { method: 'POST' })
    expect(((await (await signIn()).json()) as { token: object }).token).toMatchObject({
      name: 'admin (console)',
      projects: '*',
    })
    expect((await signIn()).status).toBe(401)
    expect(readFileSync(join(dataDir, 'log/front.log'), 'utf8')).not.toContain(hash.slice(1))
  })

  test('keeps logs in the data directory', () => {
    expect(readdirSync(join(dataDir, 'log')).sort()).toEqual(['agent.log', 'front.log'])
  })

  test('runs boxes that stay when the agent is killed, and brings the agent back', async () => {
    expect((await request('/v1/projects/up/boxes', { name: 'one' })).status).toBe(201)
    await request('/v1/projects/up/boxes/one/exec', { shell: 'echo still here > /run/mark' })
    process.kill(agentPid(up), 'SIGKILL')
    await until(() => up.output().includes('The agent is running again.'))
    expect(up.output()).toContain('The agent stopped unexpectedly (SIGKILL). Boxes keep running. Restarting it.')
    expect(await boxProcess()).toBe('still here')
  })

  test('a second one on the same data directory names the process that holds it', async () => {
    const second = runScript('up')
    expect(await second.exited).toBe(1)
    expect(second.output()).toMatch(/^Boxyard did not start: Boxyard already runs on .* \(process \d+\)\. Stop it/)
  })

  test.each(['BOXYARD_AGENT_PORT', 'BOXYARD_EDGE_PORT', 'BOXYARD_EDGE_HTTP_PORT'])(
    'one whose port is taken names %s to change',
    async (name) => {
      const taken = createServer().listen(0, '127.0.0.1')
      await new Promise((resolve) => taken.once('listening', resolve))
      const { port } = taken.address() as { port: number }
      try {
        const second = runScript('up', {
          ...{ BOXYARD_DATA_DIR: join(dataDir, 'other'), BOXYARD_AGENT_PORT: '0', BOXYARD_DATA_PORT: '0' },
          ...{ BOXYARD_METRICS_PORT: '0', BOXYARD_EDGE_PORT: '0', [name]: String(port) },
        })
        expect(await second.exited).toBe(1)
        expect(second.output()).toContain(
          `Port ${port} of 127.0.0.1 is in use. Stop the program that listens there, or set ${name} to another port.`,
        )
      } finally {
        await new Promise((resolve) => taken.close(resolve))
      }
    },
  )

  test('a setting that is wrong is named with its value', async () => {
    const second = runScript('up', { BOXYARD_DATA_DIR: join(dataDir, 'other'), BOXYARD_PORT: 'http' })
    expect(await second.exited).toBe(1)
    expect(second.output()).toContain('BOXYARD_PORT="http": expected a port from 0 to 65535.')
  })

  test.each(['up', 'down'])('%s -- --help tells how it is used, and does nothing', async (name) => {
    const script = runScript(`${name} -- --help`)
    expect([await script.exited, script.output()]).toEqual([0, expect.stringMatching(/^Usage: .*\n\n/)])
    expect(await boxProcess()).toBe('still here')
  })

  test('down refuses while it runs', async () => {
    const down = runScript('down')
    expect(await down.exited).toBe(1)
    expect(down.output()).toMatch(/still runs on .*Stop it first/)
  })

  test('token prints a token that works', async () => {
    const token = runScript('token -- --name ci --projects up --permissions read --expires 3600')
    expect(await token.exited).toBe(0)
    const answer = await fetch(`http://127.0.0.1:${settings['BOXYARD_PORT']}/v1/me`, {
      headers: { authorization: `Bearer ${token.output().trim()}` },
    })
    expect(await answer.json()).toMatchObject({ name: 'ci', projects: ['up'], permissions: ['read'] })
  })

  test('ends on a signal, leaves boxes running, and takes them up again', async () => {
    up.process.kill('SIGTERM')
    expect(await up.exited).toBe(0)
    expect(up.output()).toMatch(/Stopping\. Boxes keep running\.\n$/)
    up = await startUp()
    expect(await boxProcess()).toBe('still here')
  })

  test('leaves no process when it is killed itself', async () => {
    const agent = agentPid(up)
    const front = found(childrenOf(supervisorPid(up)).find((pid) => pid !== agent))
    process.kill(supervisorPid(up), 'SIGKILL')
    await up.exited
    await until(() => !isAlive(agent) && !isAlive(front))
  })

  test('ends when npm is killed', async () => {
    up = await startUp()
    const supervisor = supervisorPid(up)
    up.process.kill('SIGKILL')
    await until(() => !isAlive(supervisor))
  })

  test('down stops the boxes and lists what it keeps', async () => {
    const down = runScript('down')
    expect([await down.exited, down.output()]).toEqual([0, expect.stringMatching(/Stopped 1 box[^]*Kept in /)])
  })
})

function supervisorPid({ process: npm }: Script): number {
  const find = (pid: number): number | undefined =>
    commandOf(pid).includes('infra/up.ts') && !commandOf(pid).includes('with-node')
      ? pid
      : childrenOf(pid)
          .map(find)
          .find((found) => found !== undefined)
  return found(find(npm.pid ?? 0))
}

function agentPid(up: Script): number {
  return found(childrenOf(supervisorPid(up)).find((pid) => commandOf(pid).includes('agent/main.ts')))
}

/** Rejects 0 and 1. A signal to process 0 would reach this process and its whole group. */
function found(pid: number | undefined): number {
  if (pid === undefined || pid <= 1) throw new Error('There is no such process.')
  return pid
}

function childrenOf(pid: number): number[] {
  return read(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number)
}

function commandOf(pid: number): string {
  return read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ')
}

function isAlive(pid: number): boolean {
  return commandOf(pid) !== ''
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

async function until(isSo: () => boolean): Promise<void> {
  const deadline = performance.now() + 100_000
  while (!isSo()) {
    if (performance.now() > deadline) throw new Error('It did not come to pass within 100 s.')
    await sleep(20)
  }
}
