import { existsSync, statSync } from 'node:fs'
import * as module from 'node:module'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'

/**
 * Lets Node.js (≥ 22.8) keep the compiled code of what is loaded from now on, in the user's cache: reading it takes less than compiling.
 * Without such a cache, or a place of the user's alone for it, all goes on without.
 */
export function keepCompiledCode(environment: NodeJS.ProcessEnv): void {
  const directory = join(environment['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'boxyard')
  if (isOwn(directory)) module.enableCompileCache?.(directory)
}

// What others can write there would be run: the directory, or the nearest above it that is there, has to be this user's alone.
function isOwn(directory: string): boolean {
  try {
    let at = directory
    while (!existsSync(at) && dirname(at) !== at) at = dirname(at)
    const { uid, mode } = statSync(at)
    return uid === process.getuid?.() && (mode & WRITABLE_BY_OTHERS) === 0
  } catch {
    return false
  }
}

const WRITABLE_BY_OTHERS = 0o002
