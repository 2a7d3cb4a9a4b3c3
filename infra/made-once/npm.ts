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
  const path = `${dirname(process.execPath)}${delimiter}${process.env['PATH']}`
  const options = [`--ignore-scripts=${!runsScripts}`, '--no-audit', '--no-fund', '--loglevel=error']
  execFileSync('npm', ['ci', ...options], {
    cwd: to,
    env: { ...process.env, PATH: path, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: timeoutMs,
  })
}
