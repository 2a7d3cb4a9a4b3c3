import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { runBuild } from './build.ts'

/** Returns why `what` cannot be installed with Python here, or null if it can. */
export function findPythonObstacle(what: string): string | null {
  const { status } = spawnSync('python3', ['-c', 'import ensurepip, venv'])
  return status === 0 ? null : `${what} is installed with Python, and there is no python3 with venv here`
}

export interface PythonInstallation {
  /** Names the packages in lines for the waiting user. */
  what: string
  /** Path of the file of requirements. */
  requirements: string
  directory: string
  say(text: string): void
}

/**
 * Creates a separate Python in `directory`, with the packages of a requirements file. The directory can move. `bin/python` finds its
 * packages relative to itself, but programs beside it do not, so they must run as modules.
 */
export async function installFromPypi({ what, requirements, directory, say }: PythonInstallation): Promise<void> {
  const options = { what: `Installing ${what} from PyPI`, target: dirname(directory), say }
  await runBuild({ ...options, command: ['python3', '-m', 'venv', directory] })
  const pip = [join(directory, 'bin/python'), '-m', 'pip', 'install', '--disable-pip-version-check', '--no-input']
  await runBuild({
    ...options,
    command: [...pip, '--progress-bar', 'off', '-r', requirements],
    network: 'the Python package index (`pip config get global.index-url`)',
    keeps: "packages in pip's cache",
    counted: { line: /^Collecting /, unit: 'packages' },
  })
}
