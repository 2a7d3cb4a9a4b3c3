import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { ROOT } from '../../infra/commands.ts'
import { eventually } from '../helpers/eventually.ts'

/** Returns whether a process runs. A zombie does not. */
function runs(pid: number): boolean {
  return existsSync(`/proc/${pid}`) && !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
}

test.each(['SIGTERM', 'SIGINT', 'SIGKILL'] as const)(
  'a run of tests that ends by %s leaves neither workers nor what they started',
  async (signal) => {
    const { JEST_WORKER_ID: _, ...env } = process.env
    const workers = join(ROOT, 'infra/jest/workers.mjs')
    const script = join(ROOT, 'tests/fixtures/jest-stand-in.mjs')
    const jest = spawn(process.execPath, ['--import', workers, script], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    const [line] = (await once(jest.stdout, 'data')) as [Buffer]
    const pids = line.toString().trim().split(' ').map(Number)
    expect([pids.length, pids.filter(runs)]).toEqual([2, pids])
    const ended = once(jest, 'exit')
    jest.kill(signal)
    await ended
    await eventually(() => !pids.some(runs))
  },
)
