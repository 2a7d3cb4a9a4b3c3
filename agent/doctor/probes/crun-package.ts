import { readFileSync, realpathSync } from 'node:fs'
import { fixedPackageOf } from '../../drivers/host/crun-fixes.ts'
import { run, runOk } from '../../lib/run.ts'
import type { CrunPackageFacts } from '../facts.ts'

/**
 * Compares the package that brought the crun at `path` with the version that has all security fixes. Also compares it with the newest one
 * that the package lists of this host offer. Reads no network. Returns null if no Debian package brought it.
 */
export async function probeCrunPackage(path: string): Promise<CrunPackageFacts | null> {
  const owner = await ask('dpkg-query', ['--search', realpathSync(path)])
  if (owner === null) return null
  const name = owner.split(':', 1)[0] ?? ''
  const installed = (await runOk('dpkg-query', ['--show', '--showformat=${Version}', name], LIMITS)).stdout
  const fixed = name === 'crun' ? fixedPackageOf(readFileSync('/etc/os-release', 'utf8')) : null
  const policy = await ask('apt-cache', ['policy', name])
  const candidate = /^ {2}Candidate: (\S+)$/m.exec(policy ?? '')?.[1] ?? null
  return {
    name,
    installed,
    lacks: fixed !== null && (await isOlderPackage(installed, fixed)) ? fixed : null,
    offered: candidate !== null && (await isOlderPackage(installed, candidate)) ? candidate : null,
  }
}

/** Compares two Debian package versions, as dpkg does. @throws Error if dpkg cannot be started */
export async function isOlderPackage(version: string, other: string): Promise<boolean> {
  const { exitCode } = await run('dpkg', ['--compare-versions', version, 'lt', other], LIMITS)
  return exitCode === 0
}

/** Returns the output of a program in English. Null if it fails or is missing. */
async function ask(program: string, args: readonly string[]): Promise<string | null> {
  try {
    return (await runOk('env', ['LC_ALL=C.UTF-8', program, ...args], LIMITS)).stdout
  } catch {
    return null
  }
}

const LIMITS = { timeoutMs: 10_000 }
