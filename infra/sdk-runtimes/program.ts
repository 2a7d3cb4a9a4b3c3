import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../commands.ts'
import { findMadeOnce } from '../made-once/directory.ts'
import { installFromNpm, runNpm } from '../made-once/npm.ts'

/**
 * Finds the runtimes that the TypeScript SDK is tested on (Node.js 20, Bun, Deno) with a compiler. Or installs them from npm (a minute)
 * outside the checkout. Returns their directory, with `node_modules` and `npm-cache`, which holds what the SDK needs to be installed, or
 * the obstacle.
 */
export async function findSdkRuntimes(say: (text: string) => void): Promise<string | { obstacle: string }> {
  const hash = createHash('sha256')
  for (const path of [...FILES.map((name) => join(import.meta.dirname, name)), SDK]) hash.update(readFileSync(path))
  return findMadeOnce({
    name: 'sdk-runtimes',
    hash: hash.digest('hex'),
    findObstacle: () => null,
    make: async (directory) => {
      say('Installing runtimes for the TypeScript SDK from npm (only this once, a minute)')
      const what = 'runtimes for the TypeScript SDK'
      await installFromNpm({ what, from: import.meta.dirname, to: directory, runsScripts: false, say })
      await fillCache(directory, say)
    },
    say,
  })
}

/** Installs the SDK's dependencies once, so that later installations need no network. */
async function fillCache(directory: string, say: (text: string) => void): Promise<void> {
  const scratch = join(directory, 'scratch')
  mkdirSync(scratch)
  cpSync(SDK, join(scratch, 'package.json'))
  const args = ['install', '--ignore-scripts', '--cache', join(directory, 'npm-cache')]
  await runNpm(args, { what: 'Fetching what the TypeScript SDK depends on', cwd: scratch, say })
  rmSync(scratch, { recursive: true })
}

const SDK = join(ROOT, 'sdk/typescript/package.json')
const FILES = ['package.json', 'package-lock.json']
