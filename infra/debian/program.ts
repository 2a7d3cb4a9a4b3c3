import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { hostCache } from '../cluster/host-cache.ts'
import { withLock } from '../cluster/host-lock.ts'

/**
 * Returns the program at `path` of a Debian package, which it downloads on first use (some seconds) and keeps outside the checkout. It does
 * not install the package, whose scripts would start a service on this machine. @throws Error if the download fails
 */
export async function findDebianProgram(packageName: string, path: string): Promise<string> {
  const directory = hostCache(packageName)
  const program = join(directory, path)
  if (existsSync(program)) return program
  return await withLock(`debian-${packageName}`, async () => {
    // Another process may have downloaded it while this one waited.
    if (!existsSync(program)) fetchPackage(packageName, directory)
    return program
  })
}

function fetchPackage(packageName: string, directory: string): void {
  const unfinished = `${directory}.unfinished`
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(unfinished, { recursive: true })
  // The package lists may be stale or missing. Updates them only if they do not serve, which saves a request.
  if (!download(packageName, unfinished)) {
    execFileSync('apt-get', ['-q', '-o', 'DPkg::Lock::Timeout=300', 'update'], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    if (!download(packageName, unfinished)) throw new Error(`The package ${packageName} cannot be fetched.`)
  }
  const archive = readdirSync(unfinished).find((name) => name.endsWith('.deb')) ?? ''
  execFileSync('dpkg-deb', ['--extract', join(unfinished, archive), unfinished], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  rmSync(directory, { recursive: true, force: true })
  renameSync(unfinished, directory)
}

function download(packageName: string, cwd: string): boolean {
  const options = ['-q', '-o', 'APT::Sandbox::User=root']
  return spawnSync('apt-get', [...options, 'download', packageName], { cwd, stdio: 'ignore' }).status === 0
}
