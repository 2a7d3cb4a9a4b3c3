import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { withLock } from '../cluster/host-lock.ts'

/**
 * Finds generators of API clients and schemathesis, which tests documents, or installs them from npm and PyPI (a minute) outside the checkout. Returns their directory, with
 * `node_modules` and `python`, or why they cannot be had.
 */
export async function findClientGenerators(say: (text: string) => void): Promise<string | { obstacle: string }> {
  const hash = createHash('sha256')
  for (const name of FILES) hash.update(readFileSync(join(import.meta.dirname, name)))
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  const directory = join(cache, 'boxyard-client-generators', hash.digest('hex').slice(0, 16))
  if (existsSync(directory)) return directory
  if (spawnSync('python3', ['-c', 'import ensurepip, venv']).status !== 0)
    return { obstacle: 'one of the generators is installed with Python, and there is no python3 with venv here' }
  return await withLock('client-generators', async () => {
    // Another process may have installed them while this one waited.
    if (!existsSync(directory)) install(directory, say)
    return directory
  })
}

function install(directory: string, say: (text: string) => void): void {
  say('Installing generators of API clients from npm and PyPI (only this once, a minute)')
  const unfinished = `${directory}.unfinished`
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(unfinished, { recursive: true })
  for (const name of FILES) copyFileSync(join(import.meta.dirname, name), join(unfinished, name))
  const env = { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH']}` }
  const options = { cwd: unfinished, env, timeout: LIMIT_MS, stdio: QUIET }
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], options)
  execFileSync('python3', ['-m', 'venv', 'python'], options)
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-input', '-r', 'requirements.txt']
  execFileSync(join(unfinished, 'python/bin/python'), pip, options)
  // Programs of Python are run as modules, which are found from where it is.
  renameSync(unfinished, directory)
}

const FILES = ['package.json', 'package-lock.json', 'requirements.txt']
const QUIET: ['ignore', 'ignore', 'inherit'] = ['ignore', 'ignore', 'inherit']
const LIMIT_MS = 15 * 60_000
