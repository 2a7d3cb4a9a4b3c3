import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT } from '../../infra/commands.ts'
import { freePort } from '../helpers/service.ts'
import { report, timeOnce } from './figures.ts'

/** Times `npm run up` until it reports readiness, on a machine that is already set up. */
export async function benchSecondUp(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'boxyard-bench-up-'))
  const env = {
    ...process.env,
    BOXYARD_DATA_DIR: dataDir,
    BOXYARD_BASE: 'busybox',
    BOXYARD_POOL_GB: '1',
    BOXYARD_PORT: String(await freePort()),
    BOXYARD_AGENT_PORT: String(await freePort()),
    BOXYARD_DATA_PORT: String(await freePort()),
    BOXYARD_METRICS_PORT: String(await freePort()),
    BOXYARD_EDGE_PORT: '0',
  }
  try {
    const first = await timeOnce(() => upUntilReady(env))
    const second = await timeOnce(() => upUntilReady(env))
    const measured = `${(second / 1000).toFixed(2)} s (first, base busybox: ${(first / 1000).toFixed(2)} s)`
    report('second npm run up → ready', measured, '3 s', second <= 3000)
  } finally {
    await run(['run', 'down'], env)
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** Resolves when the service is ready. Stops it before the next start, outside of the measured time. */
async function upUntilReady(env: NodeJS.ProcessEnv): Promise<void> {
  await pendingStop
  const child = spawn('npm', ['run', '--silent', 'up'], { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  await new Promise<void>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      if (chunk.includes('Boxyard is ready at')) resolve()
    })
    child.once('exit', () => reject(new Error('npm run up ended')))
  })
  child.kill('SIGTERM')
  pendingStop = gone
}

async function run(args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  await pendingStop
  const child = spawn('npm', args, { cwd: ROOT, env, stdio: 'ignore' })
  await new Promise<void>((resolve) => child.once('exit', () => resolve()))
}

let pendingStop: Promise<void> = Promise.resolve()
