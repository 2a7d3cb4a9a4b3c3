import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { EdgeProgram } from '../../../agent/drivers/edge/process.ts'
import { createEdgeSupervisor, type EdgeSupervisor } from '../../../agent/drivers/edge/supervisor.ts'
import { createLimiter, type Limiter } from '../../../shared/locks.ts'
import { eventually } from '../../helpers/eventually.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

let directory: string
let children: ChildProcess[]

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-supervisor-'))
  children = []
})
afterEach(() => {
  for (const child of children) child.kill('SIGKILL')
  rmSync(directory, { recursive: true, force: true })
})

interface Fixture {
  supervisor: EdgeSupervisor
  inTurn: Limiter['run']
}

/** Supervises real processes, whose starts wait for `gate`. `info` returns the pid that the latest process reports. */
function supervise({
  gate = Promise.resolve(),
  info = (pid) => pid,
  timeouts = [],
}: {
  gate?: Promise<void>
  info?: (pid: number) => number
  timeouts?: number[]
}): Fixture {
  const { run: inTurn } = createLimiter(1)
  const program: EdgeProgram = {
    filesOf: (generation) => ({
      generation,
      config: join(directory, `${generation}.cfg`),
      socket: join(directory, `${generation}.sock`),
    }),
    configMode: 0o600,
    start: async ({ config }, { timeoutMs }) => {
      timeouts.push(timeoutMs)
      children.push(spawn('sh', ['-c', 'sleep 60 & wait', 'sh', config], { stdio: 'ignore' }))
      await gate
    },
    readInfo: async () => ({ pid: info(children.at(-1)?.pid ?? 0), mark: 'same' }),
    retire: async () => undefined,
    isIdle: async () => true,
  }
  const clock = { now: () => Date.now(), sleep: (ms: number) => pause(ms) }
  const supervisor = createEdgeSupervisor({
    ...{ program, what: 'it', inTurn, logger: silentLogger, clock },
    configFor: () => ({ text: '', mark: 'same' }),
    prepare: () => undefined,
    adopt: async () => undefined,
  })
  return { supervisor, inTurn }
}

test('a close in the middle of a start waits for it, and starts nothing more', async () => {
  const gate = Promise.withResolvers<void>()
  writeFileSync(join(directory, '0.json'), 'of one that is gone')
  const { supervisor, inTurn } = supervise({ gate: gate.promise })
  const opening = inTurn(() => supervisor.open())
  await eventually(() => children.length === 1)
  const closing = supervisor.close()
  gate.resolve()
  await Promise.all([opening, closing])
  expect([supervisor.problem(), supervisor.starts()]).toEqual([null, 1])
  expect(readdirSync(directory)).toEqual(['1.cfg'])
  await inTurn(() => supervisor.revive())
  expect(children).toHaveLength(1)
})

test('nothing is left of a process that started without reporting its pid', async () => {
  const { supervisor, inTurn } = supervise({
    info: () => {
      throw new Error('silent')
    },
  })
  await inTurn(() => supervisor.open())
  expect([supervisor.problem(), supervisor.processes()]).toEqual(['silent', []])
  await eventually(() => children[0]?.signalCode === 'SIGKILL')
  await supervisor.close()
})

test('a program gets twice the time to start after each start that failed, up to 160 s', async () => {
  const timeouts: number[] = []
  const { supervisor, inTurn } = supervise({
    timeouts,
    info: (pid) => {
      if (timeouts.length < 7) throw new Error('slow')
      return pid
    },
  })
  await inTurn(() => supervisor.open())
  await eventually(() => supervisor.processes().length === 1)
  expect(timeouts).toEqual([30_000, 60_000, 120_000, 160_000, 160_000, 160_000, 160_000])
  await supervisor.close()
})
