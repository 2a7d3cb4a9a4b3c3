import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { withLock } from '../cluster/host-lock.ts'

/**
 * Finds AWS's client of the Lambda Runtime API, which runs functions in Lambda, or builds it from npm (two minutes on two cores)
 * outside the checkout, with the headers of the Node.js that runs it. Returns its program, or why it cannot be had.
 */
export async function findLambdaRuntime(say: (text: string) => void): Promise<string | { obstacle: string }> {
  const hash = createHash('sha256')
    .update(readFileSync(join(import.meta.dirname, LOCK)))
    .update(process.version)
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  const directory = join(cache, 'boxyard-lambda-runtime', hash.digest('hex').slice(0, 16))
  const program = join(directory, 'node_modules/aws-lambda-ric/index.mjs')
  if (existsSync(program)) return program
  const missing = ['cmake', 'g++', 'make', 'xz', 'python3'].filter(
    (name) => spawnSync(name, ['--version']).status !== 0,
  )
  if (missing.length > 0)
    return { obstacle: `the client of Lambda is built here, and there is no ${missing.join(', ')}` }
  return await withLock('lambda-runtime', async () => {
    // Another process may have built it while this one waited.
    if (!existsSync(program)) build(directory, say)
    return program
  })
}

function build(directory: string, say: (text: string) => void): void {
  say('Building the client of the Lambda Runtime API from npm (only this once, some two minutes)')
  const unfinished = `${directory}.unfinished`
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(unfinished, { recursive: true })
  for (const name of ['package.json', LOCK]) copyFileSync(join(import.meta.dirname, name), join(unfinished, name))
  const bin = dirname(process.execPath)
  const env = {
    ...process.env,
    PATH: `${bin}${delimiter}${process.env['PATH']}`,
    // Else node-gyp would download the headers.
    npm_config_nodedir: dirname(bin),
  }
  const options = ['--ignore-scripts=false', '--no-audit', '--no-fund', '--loglevel=error']
  execFileSync('npm', ['ci', ...options], {
    cwd: unfinished,
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: LIMIT_MS,
  })
  renameSync(unfinished, directory)
}

const LOCK = 'package-lock.json'
const LIMIT_MS = 20 * 60_000
