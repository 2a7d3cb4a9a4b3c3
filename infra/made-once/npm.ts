import { copyFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { runBuild } from './build.ts'

export interface NpmInstallation {
  /** Names the packages in lines for the waiting user. */
  what: string
  /** Directory of `package.json` and `package-lock.json`. */
  from: string
  to: string
  /** True if packages can run scripts, which build them. */
  runsScripts: boolean
  /** Further variables for npm. */
  env?: Readonly<Record<string, string>>
  say(text: string): void
}

/** Installs exactly the packages of a lock file into `to`, by the npm and the Node.js of this process. */
export async function installFromNpm({ what, from, to, runsScripts, env = {}, say }: NpmInstallation): Promise<void> {
  for (const name of ['package.json', 'package-lock.json']) copyFileSync(join(from, name), join(to, name))
  const args = ['ci', `--ignore-scripts=${!runsScripts}`]
  await runNpm(args, { what: `Installing ${what} from npm`, cwd: to, env, say })
}

interface NpmRun extends Pick<NpmInstallation, 'what' | 'env' | 'say'> {
  cwd: string
}

/** Runs npm with the Node.js of this process, and returns its stdout. @throws Error if it fails */
export async function runNpm(args: readonly string[], { what, cwd, env, say }: NpmRun): Promise<string> {
  const path = `${dirname(process.execPath)}${delimiter}${process.env['PATH']}`
  return await runBuild({
    what,
    command: ['npm', ...args, '--no-audit', '--no-fund', '--loglevel=error'],
    cwd,
    env: { ...process.env, PATH: path, ...env },
    target: cwd,
    network: "npm's registry (`npm config get registry`)",
    keeps: "packages in npm's cache",
    say,
  })
}
