import { createFairTurns } from '../../../shared/fair-turns.ts'
import type { FlowOwner } from '../../../shared/rotation.ts'
import type { FilesRoot } from '../../ports/files/files.ts'

/** Runs a call of a transfer that waits for a disk on a thread of libuv's pool. */
export type OnDisk = <T>(call: () => Promise<T>) => Promise<T>

/**
 * Limits how many threads of libuv's pool transfers occupy. All file calls of this process share the pool. So a slow disk delays transfers
 * and nothing else.
 */
export interface DiskTurns {
  of(root: Pick<FilesRoot, 'boxId' | 'accounts'>): OnDisk
}

/** Creates turns of 8 threads. A project gets at most 4 of them, and its calls wait for each other. */
export function createDiskTurns(threads = THREADS): DiskTurns {
  const turns = createFairTurns(threads, Number.MAX_SAFE_INTEGER)
  return {
    of: (root) => async (call) => {
      const { project } = rootOwnerOf(root)
      const end = turns.take(project) ?? (await turns.wait(project, NEVER))
      try {
        return await call()
      } finally {
        end()
      }
    },
  }
}

/** Returns the owner of bytes in a tree, which is the project of the request (its first account), or else the box. */
export function rootOwnerOf({ boxId, accounts = [] }: Pick<FilesRoot, 'boxId' | 'accounts'>): FlowOwner {
  return { project: accounts[0] ?? boxId, box: boxId }
}

/** Half of the pool of an agent (`UV_THREADPOOL_SIZE`). */
const THREADS = 8
/** Other limits apply to transfers, and no transfer leaves a call that has begun. */
const NEVER = new AbortController().signal
