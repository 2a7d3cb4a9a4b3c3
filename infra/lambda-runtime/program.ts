import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { findMadeOnce } from '../made-once/directory.ts'
import { installFromNpm } from '../made-once/npm.ts'

/**
 * Finds AWS's client of the Lambda Runtime API, which runs functions in Lambda. Or builds it from npm (two minutes on two cores) outside
 * the checkout, with the headers of the Node.js that runs it. Returns its program, or the obstacle.
 */
export async function findLambdaRuntime(say: (text: string) => void): Promise<string | { obstacle: string }> {
  const hash = createHash('sha256')
    .update(readFileSync(join(import.meta.dirname, 'package-lock.json')))
    .update(process.version)
  const found = await findMadeOnce({
    name: 'lambda-runtime',
    hash: hash.digest('hex'),
    findObstacle: () => {
      const missing = TOOLS.filter((name) => spawnSync(name, ['--version']).status !== 0)
      return missing.length === 0 ? null : `the client of Lambda is built here, and there is no ${missing.join(', ')}`
    },
    make: async (directory) => {
      say('Building the client of the Lambda Runtime API from npm (only this once, some two minutes)')
      // Otherwise node-gyp would download the headers.
      const env = { npm_config_nodedir: dirname(dirname(process.execPath)) }
      const what = 'the client of the Lambda Runtime API'
      await installFromNpm({ what, from: import.meta.dirname, to: directory, runsScripts: true, env, say })
    },
    say,
  })
  return typeof found === 'string' ? join(found, 'node_modules/aws-lambda-ric/index.mjs') : found
}

const TOOLS = ['cmake', 'g++', 'make', 'xz', 'python3']
