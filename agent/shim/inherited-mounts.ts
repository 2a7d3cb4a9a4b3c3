import { readFileSync } from 'node:fs'
import { parseMountInfo } from '../drivers/host/mount-info.ts'
import { unmountIfMounted } from '../lib/syscalls/mounts.ts'

/**
 * Takes the mounts below `runDir` out of this process' own mount namespace, a copy of the agent's: the pool and the namespaces
 * of boxes must not stay mounted because a shim lives.
 */
export function dropInheritedMounts(runDir: string): void {
  const mounts = parseMountInfo(readFileSync('/proc/self/mountinfo'))
  for (const { path } of mounts.toReversed()) {
    // It may have gone with the one it was mounted on.
    if (path.startsWith(`${runDir}/`)) unmountIfMounted(path)
  }
}
