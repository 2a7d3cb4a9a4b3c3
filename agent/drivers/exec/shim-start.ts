import type { ChildProcess } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { Socket } from 'node:net'
import type { Logger } from '../../../shared/log.ts'
import { spawnChild } from '../../lib/run.ts'
import type { ShimOptions } from './shim-protocol.ts'

/**
 * Starts a shim that outlives this process, in a session and a mount namespace of its own; resolves once it listens.
 * What it says on stderr is logged.
 */
export async function startShim(options: ShimOptions, logger: Logger): Promise<void> {
  const args = ['--mount', '--propagation', 'slave', '--', ...NODE, PROGRAM, JSON.stringify(options)]
  const codeDir = `${options.runDir}/code`
  mkdirSync(codeDir, { recursive: true, mode: 0o700 })
  const child = spawnChild('unshare', args, {
    cwd: '/',
    // With its code compiled the second start takes a third of the time, and half of the memory for as long as it lives.
    env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', NODE_COMPILE_CACHE: codeDir },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    logger.warn('the shim says', { shim: child.pid, text: text.slice(0, LOGGED_CHARACTERS) })
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), START_DEADLINE_MS)
  try {
    await untilReady(child)
  } finally {
    clearTimeout(timer)
    letGo(child)
  }
}

function untilReady(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => reject(new Error(`the shim ended at its start (${code ?? signal})`)))
    child.stdout?.once('data', () => resolve())
  })
}

// It must not keep this process, nor end with it.
function letGo(child: ChildProcess): void {
  child.on('error', () => undefined)
  child.stdout?.destroy()
  child.unref()
  child.stderr?.on('error', () => undefined)
  if (child.stderr instanceof Socket) child.stderr.unref()
}

const PROGRAM = new URL('../../shim/main.ts', import.meta.url).pathname
// It keeps little and is asked little.
const NODE = [
  process.execPath,
  '--disable-warning=ExperimentalWarning',
  '--max-semi-space-size=1',
  '--max-old-space-size=256',
]
const START_DEADLINE_MS = 20_000
const LOGGED_CHARACTERS = 4_000
