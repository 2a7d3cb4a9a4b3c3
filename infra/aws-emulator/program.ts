import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { withLock } from '../cluster/host-lock.ts'

/**
 * Finds moto, an emulator of AWS's APIs, or installs it from PyPI (a minute) outside the checkout. Returns the Python that runs
 * `serve.py`, or why it cannot be had.
 */
export async function findAwsEmulator(say: (text: string) => void): Promise<string | { obstacle: string }> {
  const hash = createHash('sha256').update(readFileSync(REQUIREMENTS)).digest('hex').slice(0, 16)
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  const directory = join(cache, 'boxyard-aws-emulator', hash)
  const program = join(directory, 'bin/python')
  if (existsSync(program)) return program
  if (spawnSync('python3', ['-c', 'import ensurepip, venv']).status !== 0)
    return { obstacle: 'an emulator of AWS is installed with Python, and there is no python3 with venv here' }
  return await withLock('aws-emulator', async () => {
    // Another process may have installed it while this one waited.
    if (!existsSync(program)) install(directory, say)
    return program
  })
}

function install(directory: string, say: (text: string) => void): void {
  say('Installing an emulator of AWS from PyPI (only this once, a minute)')
  const unfinished = `${directory}.unfinished`
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(unfinished, { recursive: true })
  const options = { stdio: ['ignore', 'ignore', 'inherit'] as ['ignore', 'ignore', 'inherit'], timeout: LIMIT_MS }
  execFileSync('python3', ['-m', 'venv', unfinished], options)
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-input', '-r', REQUIREMENTS]
  execFileSync(join(unfinished, 'bin/python'), pip, options)
  // Only its Python is used, which finds its packages from where it is.
  renameSync(unfinished, directory)
}

const REQUIREMENTS = join(import.meta.dirname, 'requirements.txt')
const LIMIT_MS = 15 * 60_000
