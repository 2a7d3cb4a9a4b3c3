import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { dieWithParent } from '../../../infra/commands.ts'
import { findInstance, lockInstance } from '../../../infra/instance-lock.ts'
import { openLogFile } from '../../../infra/log-file.ts'
import { createLineSplitter } from '../../../infra/log-lines.ts'
import { createServiceProcess, type ServiceProcess } from '../../../infra/service-process.ts'
import { eventually } from '../../helpers/eventually.ts'

const FIXTURES = join(import.meta.dirname, '../../fixtures')

describe('a supervised process', () => {
  let service: ServiceProcess
  let said: string[]
  let logged: string[]

  const supervise = (...steps: string[]): ServiceProcess => {
    said = []
    logged = []
    service = createServiceProcess({
      name: 'service',
      command: dieWithParent([process.execPath, join(FIXTURES, 'service.mjs'), ...steps]),
      lossNote: 'Nothing is lost.',
      stopDeadlineMs: 500,
      say: (text) => said.push(text),
      log: (line) => logged.push(line),
    })
    return service
  }
  const pid = (): number => {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
    const found = pids.filter(
      (candidate) => parentOf(candidate) === process.pid && commandOf(candidate).includes('service.mjs'),
    )
    return Number(found[0] ?? 0)
  }
  afterEach(() => service.stop())

  test('is ready when it reports so; its progress is shown, the rest is logged', async () => {
    const line = await supervise('progress', 'chatter', 'ready').start()
    expect(line).toMatchObject({ url: 'http://127.0.0.1:1', port: 1 })
    expect(said).toEqual(['working on it'])
    expect(logged).toHaveLength(3)
  })

  test('that fails to start gives its own reason and remedy', async () => {
    await expect(supervise('progress', 'fail').start()).rejects.toThrow(/^The disk is full. Free some space.$/)
  })

  test('that cannot even log gives its last lines', async () => {
    await expect(supervise('crash').start()).rejects.toThrow(/broken to the core[^]*exit code 1/)
  })

  test('is started again when it is killed, and stays away once it is stopped', async () => {
    await supervise('ready').start()
    const first = pid()
    process.kill(first, 'SIGKILL')
    await eventually(() => said.length === 2)
    expect(said).toEqual([
      'The service stopped unexpectedly (SIGKILL). Nothing is lost. Restarting it.',
      'The service is running again.',
    ])
    expect(pid()).not.toBe(first)
    await service.stop()
    await sleep(400)
    expect(pid()).toBe(0)
  })

  test('that ignores the polite signal is killed at the deadline', async () => {
    await supervise('stubborn', 'ready').start()
    const startedAt = performance.now()
    await service.stop()
    expect(performance.now() - startedAt).toBeGreaterThan(450)
    expect(pid()).toBe(0)
  })

  test('that was stopped while it started does not come', async () => {
    const starting = supervise().start()
    await sleep(100)
    await service.stop()
    await expect(starting).rejects.toThrow('SIGTERM')
    expect(pid()).toBe(0)
  })
})

test('a child ends when its parent is killed', async () => {
  const command = dieWithParent(['sleep', '60'])
  const parent = spawn(process.execPath, [join(FIXTURES, 'parent.mjs'), ...command], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [text] = (await parent.stdout.take(1).toArray()) as Buffer[]
  const child = String(text).trim()
  await eventually(() => commandOf(child).startsWith('sleep'))
  parent.kill('SIGKILL')
  await eventually(() => !commandOf(child).startsWith('sleep'))
})

describe('the lock of a data directory', () => {
  test('has one holder, which others can name', async () => {
    const lock = await lockInstance('/data/a')
    try {
      expect(await lockInstance('/data/a')).toEqual({ heldBy: process.pid })
      expect(await findInstance('/data/a')).toBe(process.pid)
      expect(await findInstance('/data/b')).toBeNull()
    } finally {
      if ('release' in lock) lock.release()
    }
    await eventually(async () => (await findInstance('/data/a')) === null)
  })
})

describe('a log file', () => {
  let directory: string
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'boxyard-log-'))
  })
  afterEach(() => rmSync(directory, { recursive: true }))

  test('keeps what earlier runs wrote, however many starts failed since', () => {
    const path = join(directory, 'log/agent.log')
    for (const line of ['a crash', ...Array.from({ length: 20 }, (_, i) => `failed start ${i}`)]) {
      const log = openLogFile(path)
      log.write(line)
      log.close()
    }
    expect(readFileSync(path, 'utf8')).toMatch(/^a crash\nfailed start 0\n/)
    expect(readFileSync(path, 'utf8')).toMatch(/failed start 19\n$/)
    expect(readdirSync(join(directory, 'log'))).toEqual(['agent.log'])
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  test('counts what earlier runs wrote', () => {
    const path = join(directory, 'front.log')
    for (let i = 0; i < 4; i++) {
      const log = openLogFile(path, 50)
      log.write(`${i}${'x'.repeat(23)}`)
      log.close()
    }
    expect([path, `${path}.1`].map((each) => readFileSync(each, 'utf8').replaceAll('x', ''))).toEqual([
      '2\n3\n',
      '0\n1\n',
    ])
  })

  test('never grows beyond its bound', () => {
    const path = join(directory, 'front.log')
    const log = openLogFile(path, 100)
    for (let i = 0; i < 100; i++) log.write('x'.repeat(29))
    log.close()
    const sizes = readdirSync(directory).map((name) => statSync(join(directory, name)).size)
    expect(sizes.sort()).toEqual([30, 90, 90, 90, 90, 90])
  })
})

test('lines are whole however the text is cut, and an endless one is cut', () => {
  const splitter = createLineSplitter()
  expect(splitter.push('one\ntw')).toEqual(['one'])
  expect(splitter.push('o\n\nthr')).toEqual(['two', ''])
  expect(splitter.rest()).toBe('thr')
  expect(splitter.push('x'.repeat(2 * 1024 * 1024)).map(({ length }) => length)).toEqual([1024 * 1024])
})

function commandOf(pid: string): string {
  return read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ')
}

function parentOf(pid: string): number {
  return Number(/\nPPid:\t(\d+)/.exec(read(`/proc/${pid}/status`))?.[1])
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
