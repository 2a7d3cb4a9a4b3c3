import { once } from 'node:events'
import fs from 'node:fs'
import { createLimiter } from '../../../shared/locks.ts'
import type { Mounter } from '../../lib/mounts/mounter.ts'
import { spawnChild } from '../../lib/run.ts'
import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { attachMountAt, unmountIfMounted } from '../../lib/syscalls/mounts.ts'

/** Locks the flags of detached mounts, for boxes whose root may mount. */
export interface TreeLocker {
  /**
   * Returns a detached mount like `treeFd`, and closes that. No process in a user namespace can clear the flags of the new mount
   * (read-only, nosuid, nodev).
   */
  lock(treeFd: number): Promise<number>
}

/**
 * Creates a locker that stages mounts at `stage`. The kernel locks the flags of mounts when it copies a mount namespace for another user
 * namespace. So a short-lived process makes such a copy, and the locker clones the mount from there.
 */
export function createTreeLocker(mounter: Mounter, stage: string): TreeLocker {
  const { run: inTurn } = createLimiter(1)
  return { lock: (treeFd) => inTurn(() => lockTree(mounter, treeFd, stage)) }
}

async function lockTree(mounter: Mounter, treeFd: number, stage: string): Promise<number> {
  try {
    fs.mkdirSync(stage, { recursive: true, mode: 0o700 })
    attachMountAt(treeFd, stage)
    const namespace = await copyNamespace()
    try {
      const namespaceFd = fs.openSync(`/proc/${namespace.pid}/ns/mnt`, 'r')
      const outcome = await mounter.run({ act: 'clone', namespaceFd, path: stage })
      if (outcome.end !== 'cloned') throw new Error(`a mount could not be cloned: ${outcome.end}`)
      return outcome.fd
    } finally {
      namespace.end()
    }
  } finally {
    unmountIfMounted(stage)
    closeFd(treeFd)
  }
}

/** Starts a process in a copy of this mount namespace that belongs to a new user namespace. It waits until `end`. */
async function copyNamespace(): Promise<{ pid: number; end(): void }> {
  const script = 'echo ready; read -r _'
  const child = spawnChild('unshare', ['--user', '--mount', '--propagation=private', '--', 'sh', '-c', script])
  child.stdin?.on('error', () => undefined)
  const end = (): void => void child.kill('SIGKILL')
  child.stdout?.on('error', () => undefined)
  const abort = AbortSignal.timeout(COPY_MS)
  try {
    const failed = once(child, 'close', { signal: abort }).then(() => {
      throw new Error('the process with a copy of the mounts ended')
    })
    await Promise.race([child.stdout === null ? failed : once(child.stdout, 'data', { signal: abort }), failed])
    failed.catch(() => undefined)
    return { pid: child.pid ?? 0, end }
  } catch (error) {
    end()
    throw error
  }
}

const COPY_MS = 10_000
