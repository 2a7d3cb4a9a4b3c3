import type { ChildProcess } from 'node:child_process'
import { ftruncateSync, mkdirSync, writeSync } from 'node:fs'
import { Socket } from 'node:net'
import type { Logger } from '../../../shared/log.ts'
import { tryReadText } from '../../lib/disk/file-text.ts'
import { programFile } from '../../lib/program-files.ts'
import { spawnChild } from '../../lib/run.ts'
import { inBoxesUnit } from '../host/boxes-unit.ts'
import { readStartTicks } from '../host/handle.ts'
import { type ShimOptions, shimPaths } from './shim-protocol.ts'

/**
 * Starts a shim that outlives this process, in a session and a mount namespace of its own. Resolves once it listens, rejects after 60 s.
 * Logs its stderr.
 */
export async function startShim(options: ShimOptions, logger: Logger): Promise<void> {
  const isolated = ['unshare', '--mount', '--propagation', 'slave', '--', ...NODE, PROGRAM, JSON.stringify(options)]
  const [command = '', ...args] = inBoxesUnit('shim', isolated)
  const codeDir = `${options.runDir}/code`
  mkdirSync(codeDir, { recursive: true, mode: 0o700 })
  const child = spawnChild(command, args, {
    cwd: '/',
    // With a compile cache a start takes a third of the time, and the process half of the memory.
    env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', NODE_COMPILE_CACHE: codeDir },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    logger.warn('output of a shim', { shim: child.pid, text: text.slice(0, LOGGED_CHARACTERS) })
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), START_DEADLINE_MS)
  try {
    await waitUntilReady(child)
  } finally {
    clearTimeout(timer)
    disown(child)
  }
}

/** Writes pid and start time of this process, the shim, into its lock file, open as `fd`. */
export function writeShimPid(fd: number): void {
  ftruncateSync(fd)
  writeSync(fd, `${process.pid} ${readStartTicks(process.pid)}`)
}

/** Kills the shim of a version. Returns false if it does not run. */
export function killShim(runDir: string, version: number): boolean {
  const [pid = 0, startTicks = 0] = tryReadText(shimPaths(runDir, version).lock).split(' ').map(Number)
  if (pid === 0 || readStartTicks(pid) !== startTicks) return false
  process.kill(pid, 'SIGKILL')
  return true
}

function waitUntilReady(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => reject(new Error(`the shim ended at its start (${code ?? signal})`)))
    child.stdout?.once('data', () => resolve())
  })
}

// Lets either process end without the other.
function disown(child: ChildProcess): void {
  child.on('error', () => undefined)
  child.stdout?.destroy()
  child.unref()
  child.stderr?.on('error', () => undefined)
  if (child.stderr instanceof Socket) child.stderr.unref()
}

const PROGRAM = programFile('agent/shim/main.ts').pathname
// Small heaps, because it keeps little state and gets few requests.
const NODE = [
  process.execPath,
  '--disable-warning=ExperimentalWarning',
  '--max-semi-space-size=1',
  '--max-old-space-size=256',
]
/** Far longer than a start takes, also on a busy machine. */
const START_DEADLINE_MS = 60_000
const LOGGED_CHARACTERS = 4_000
