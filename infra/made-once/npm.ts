import { execFileSync } from 'node:child_process'
import { copyFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'

export interface NpmInstallation {
  /** Where `package.json` and `package-lock.json` are. */
  from: string
  to: string
  /** True: packages may run scripts, which build them. */
  runsScripts: boolean
  timeoutMs: number
  /** Further variables for npm. */
  env?: Readonly<Record<string, string>>
}

/** Installs exactly the packages of a lock file into `to`, by the npm and the Node.js of this process. */
export function installFromNpm({ from, to, runsScripts, timeoutMs, env = {} }: NpmInstallation): void {
  for (const name of ['package.json', 'package-lock.json']) copyFileSync(join(from, name), join(to, name))
  runNpm(['ci', `--ignore-scripts=${!runsScripts}`], { cwd: to, timeoutMs, env })
}

/** Runs npm with the Node.js of this process, and returns what it prints on stdout. @throws Error if it fails */
export function runNpm(
  args: readonly string[],
  { cwd, timeoutMs, env = {} }: Pick<NpmInstallation, 'timeoutMs' | 'env'> & { cwd: string },
): string {
  const path = `${dirname(process.execPath)}${delimiter}${process.env['PATH']}`
  return execFileSync('npm', [...args, '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd,
    env: { ...process.env, PATH: path, ...env },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: timeoutMs,
  })
}
