import { spawnSync } from 'node:child_process'
import { closeSync, fstatSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { takeServiceVariables } from '../../../agent/config/systemd.ts'
import { connectServiceManager } from '../../../agent/lib/systemd/notify.ts'
import { ROOT } from '../../../infra/commands.ts'
import { priorityOf } from '../../../shared/stderr-log.ts'
import { eventually } from '../../helpers/eventually.ts'
import { bindDatagrams } from '../../helpers/systemd/datagrams.ts'

let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-notify-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

test.each(['a path', 'an abstract name'])('tells a manager at %s of each state', (kind) => {
  const address = kind === 'a path' ? join(directory, 'notify') : `@boxyard-notify-${process.pid}`
  const socket = bindDatagrams(address)
  const env: NodeJS.ProcessEnv = { NOTIFY_SOCKET: address, OTHER: 'kept' }
  const manager = connectServiceManager(takeServiceVariables(env))
  manager.status('Building\nREADY=1')
  manager.ready('Serves')
  manager.stopping()
  expect(socket.receive()).toEqual([
    'STATUS=Building READY=1',
    'READY=1\nSTATUS=Serves',
    'STOPPING=1\nSTATUS=Stopping, boxes keep running',
  ])
  expect(env).toEqual({ OTHER: 'kept' })
  manager.close()
  socket.close()
})

test('loses nothing where the queue of the manager is full', async () => {
  const address = join(directory, 'notify')
  const socket = bindDatagrams(address)
  const manager = connectServiceManager({ NOTIFY_SOCKET: address })
  const sent = Array.from({ length: 600 }, (_, index) => `STATUS=step ${index}`)
  for (const message of sent) manager.status(message.slice(7))
  manager.ready('Serves')
  const received: string[] = []
  await eventually(() => received.push(...socket.receive()) > sent.length)
  expect(received).toEqual([...sent, 'READY=1\nSTATUS=Serves'])
  manager.close()
  socket.close()
})

test('feeds the watchdog at twice its rate, until it is closed', async () => {
  const address = join(directory, 'notify')
  const socket = bindDatagrams(address)
  const manager = connectServiceManager({
    NOTIFY_SOCKET: address,
    WATCHDOG_USEC: '20000',
    WATCHDOG_PID: `${process.pid}`,
  })
  const fed: string[] = []
  await eventually(() => fed.push(...socket.receive()) >= 3)
  expect(new Set(fed)).toEqual(new Set(['WATCHDOG=1']))
  manager.close()
  socket.close()
})

test.each([
  ['is absent', {}],
  ['is gone', { NOTIFY_SOCKET: '/nowhere/notify' }],
  ['watches another process', { NOTIFY_SOCKET: '/nowhere/notify', WATCHDOG_USEC: '1000', WATCHDOG_PID: '1' }],
])('does nothing where the manager %s', (_what, env) => {
  const manager = connectServiceManager({ ...env })
  manager.ready('Serves')
  manager.close()
})

test.each([true, false])(
  'lines have priorities where stderr leads to the journal (%s), and only there',
  (isJournal) => {
    const path = join(directory, 'stderr')
    const fd = openSync(path, 'w')
    const { dev, ino } = fstatSync(fd)
    const script = `const { createStderrWriter } = await import('${join(ROOT, 'shared/stderr-log.ts')}'); createStderrWriter()('a line')`
    spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'ignore', fd],
      env: { JOURNAL_STREAM: isJournal ? `${dev}:${ino}` : `${dev}:${ino + 1}` },
    })
    closeSync(fd)
    expect(readFileSync(path, 'utf8')).toBe(isJournal ? '<4>a line\n' : 'a line\n')
  },
)

test.each([
  ['{"time":"2026-11-24T00:00:00.000Z","level":"error","message":"m"}', '<3>'],
  ['{"time":"2026-11-24T00:00:00.000Z","level":"warn","message":"m"}', '<4>'],
  ['{"time":"2026-11-24T00:00:00.000Z","level":"info","message":"\\"level\\":\\"error\\""}', '<6>'],
  ['{"time":"2026-11-24T00:00:00.000Z","level":"debug","message":"m"}', '<7>'],
  ['no JSON', '<4>'],
])('the priority of %s in the journal is %s', (line, prefix) => {
  expect(priorityOf(line)).toBe(prefix)
})
