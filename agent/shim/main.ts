import { closeSync, openSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { createJsonLogger } from '../../shared/log.ts'
import { recordShim } from '../drivers/exec/shim-process.ts'
import { type ShimOptions, shimPaths } from '../drivers/exec/shim-protocol.ts'
import { openCommandHost } from '../drivers/host/command-host.ts'
import { lockFile } from '../lib/syscalls/descriptors.ts'
import { dropInheritedMounts } from './inherited-mounts.ts'
import { serveShim } from './server.ts'
import { createShimState } from './state.ts'

/** Holds commands and sessions of one instance until there are none, and no agent: says `ready` on stdout once it listens. */
async function main(): Promise<void> {
  // Whoever started it may be gone.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
  const options = JSON.parse(process.argv[2] ?? '') as ShimOptions
  const { socket, lock, work } = shimPaths(options.runDir)
  await lockOut(lock)
  dropInheritedMounts(options.runDir)
  const write = (line: string): void => void process.stderr.write(`${line}\n`)
  const now = (): number => Date.now()
  const logger = createJsonLogger({ level: 'warn', write, now })
  const host = openCommandHost({ ...options, workName: work, logger })
  await serveShim({
    path: socket,
    createHolding: (listener) => createShimState({ host, files: options.execFiles, logger, listener, now }),
    end: () => process.exit(0),
  })
  process.stdout.write('ready\n')
  flushCompileCache()
}

// One that has just decided to end lets go at once.
async function lockOut(path: string): Promise<void> {
  const fd = openSync(path, 'a', 0o600)
  for (let attempt = 0; attempt < LOCK_ATTEMPTS; attempt++) {
    if (lockFile(fd, 'exclusive')) {
      recordShim(fd)
      return
    }
    await sleep(LOCK_PAUSE_MS)
  }
  closeSync(fd)
  throw new Error('Another shim of this instance runs.')
}

const LOCK_ATTEMPTS = 250
const LOCK_PAUSE_MS = 20

await main()
