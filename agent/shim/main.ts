import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { createJsonLogger } from '../../shared/log.ts'
import { writeShimPid } from '../drivers/exec/shim-process.ts'
import { type ShimOptions, shimPaths } from '../drivers/exec/shim-protocol.ts'
import { openCommandHost } from '../drivers/host/command-host.ts'
import { parseMountInfo } from '../drivers/host/mount-info.ts'
import { lockFile } from '../lib/syscalls/descriptors.ts'
import { unmountIfMounted } from '../lib/syscalls/mounts.ts'
import { serveShim } from './server.ts'
import { createShimState } from './state.ts'

/** Runs the shim of one instance until it has no command, session or agent. Writes `ready` to stdout once it listens. */
async function main(): Promise<void> {
  // The agent that started it may be gone.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
  const options = JSON.parse(process.argv[2] ?? '') as ShimOptions
  const { socket, lock, work } = shimPaths(options.runDir)
  await takeLock(lock)
  dropInheritedMounts(options.runDir)
  const write = (line: string): void => void process.stderr.write(`${line}\n`)
  const now = (): number => Date.now()
  const logger = createJsonLogger({ level: 'warn', write, now })
  const host = openCommandHost({ ...options, workName: work, logger })
  // Flushes now, not at the end, when the run directory may be gone and writing would recreate it.
  flushCompileCache()
  await serveShim({
    path: socket,
    createState: (listener) => createShimState({ host, files: options.execFiles, logger, listener, now }),
    end: () => {
      // The instance was removed while this shim started. No other process removes the cgroups that it made.
      if (!existsSync(lock)) host.cgroups.close()
      process.exit(0)
    },
  })
  process.stdout.write('ready\n')
}

// Retries for 5 s, because a shim that is ending releases the lock at once.
async function takeLock(path: string): Promise<void> {
  const fd = openSync(path, 'a', 0o600)
  for (let attempt = 0; attempt < LOCK_ATTEMPTS; attempt++) {
    if (lockFile(fd, 'exclusive')) {
      writeShimPid(fd)
      return
    }
    await sleep(LOCK_PAUSE_MS)
  }
  closeSync(fd)
  throw new Error('Another shim of this instance runs.')
}

/**
 * Unmounts everything below `runDir` in this process' own mount namespace, a copy of the agent's, so that a shim keeps neither
 * the pool nor namespaces of boxes mounted.
 */
function dropInheritedMounts(runDir: string): void {
  const mounts = parseMountInfo(readFileSync('/proc/self/mountinfo'))
  for (const { path } of mounts.toReversed()) {
    // It may be gone with its parent mount.
    if (path.startsWith(`${runDir}/`)) unmountIfMounted(path)
  }
}

const LOCK_ATTEMPTS = 250
const LOCK_PAUSE_MS = 20

await main()
