import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'

/** Returns why `what` cannot be installed with Python here; null if it can. */
export function findPythonObstacle(what: string): string | null {
  const { status } = spawnSync('python3', ['-c', 'import ensurepip, venv'])
  return status === 0 ? null : `${what} is installed with Python, and there is no python3 with venv here`
}

/**
 * Makes a Python of its own in `directory`, with the packages of a file of requirements. It may be moved: `bin/python` finds its
 * packages from where it is, while programs beside it do not, so that they are run as modules.
 */
export function installFromPypi(directory: string, requirements: string): void {
  const options = { stdio: QUIET, timeout: LIMIT_MS }
  execFileSync('python3', ['-m', 'venv', directory], options)
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-input', '-r', requirements]
  execFileSync(join(directory, 'bin/python'), pip, options)
}

const QUIET: ['ignore', 'ignore', 'inherit'] = ['ignore', 'ignore', 'inherit']
const LIMIT_MS = 15 * 60_000
