import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { withLock } from '../cluster/host-lock.ts'

/**
 * The program of an image registry, of Debian's package of it, fetched on first use (some seconds) and kept outside the checkout.
 * The package is not installed: it would run the program as a service of this machine.
 * @throws Error where it cannot be fetched
 */
export async function findRegistryProgram(): Promise<string> {
  const directory = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'boxyard-registry')
  const program = join(directory, 'usr/bin', PACKAGE)
  if (existsSync(program)) return program
  return await withLock('registry', async () => {
    // Another process may have fetched it while this one waited.
    if (!existsSync(program)) fetchPackage(directory)
    return program
  })
}

function fetchPackage(directory: string): void {
  const unfinished = `${directory}.unfinished`
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(unfinished, { recursive: true })
  // The lists may be old, or not there; where they serve the network is asked less.
  if (!download(unfinished)) {
    execFileSync('apt-get', ['-q', '-o', 'DPkg::Lock::Timeout=300', 'update'], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    if (!download(unfinished)) throw new Error(`The package ${PACKAGE} cannot be fetched.`)
  }
  const archive = readdirSync(unfinished).find((name) => name.endsWith('.deb')) ?? ''
  execFileSync('dpkg-deb', ['--extract', join(unfinished, archive), unfinished], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  rmSync(directory, { recursive: true, force: true })
  renameSync(unfinished, directory)
}

function download(cwd: string): boolean {
  const options = ['-q', '-o', 'APT::Sandbox::User=root']
  return spawnSync('apt-get', [...options, 'download', PACKAGE], { cwd, stdio: 'ignore' }).status === 0
}

const PACKAGE = 'docker-registry'
