import { createKeyedLock, createLimiter } from '../../../shared/locks.ts'
import { programFile } from '../../lib/program-files.ts'
import { duplicateFd } from '../../lib/syscalls/descriptors.ts'
import { createFileThreads, type FileThreads } from '../../lib/threads/threads.ts'
import type { CowFilesystem, SubvolumeUsage } from '../../ports/pool/cow-filesystem.ts'
import { createBtrfsChanges } from './changes.ts'
import { readAllocation, readDeviceErrors } from './condition.ts'
import type { BtrfsPoolOptions, MountedPool } from './pool.ts'
import { createPoolScrubs } from './scrub.ts'
import { topSubvolumes } from './subvolumes.ts'
import type { BtrfsTasks } from './tasks.ts'

/** Reads about a pool and its subvolumes, without changing them. */
export interface BtrfsInsight extends Pick<CowFilesystem, 'changes' | 'measure' | 'condition' | 'startScrub'> {
  close(): Promise<void>
}

/** Runs long work in a thread, which starts at the first call that needs it, and in btrfs programs. */
export function createBtrfsInsight(pool: MountedPool, { logger }: Pick<BtrfsPoolOptions, 'logger'>): BtrfsInsight {
  const threads: FileThreads<BtrfsTasks> = createFileThreads({
    ...{ module: TASKS, count: 1, memoryMb: THREAD_MB },
    // Counting may take a CPU for minutes, which commands need more.
    niceness: 10,
  })
  const changes = createBtrfsChanges({ ...pool, threads })
  const usage = createBtrfsUsage({ ...pool, threads })
  const scrubs = createPoolScrubs({ ...pool, logger })
  return {
    changes: (request) => changes.page(request),
    measure: (names, share) => usage.measure(names, share),
    condition: async () => ({
      data: await readAllocation(pool.filesystemId, 'data'),
      metadata: await readAllocation(pool.filesystemId, 'metadata'),
      deviceErrors: readDeviceErrors(pool.rootFd),
      isReadOnly: pool.isReadOnly(),
      backing: await pool.backing(),
      scrub: scrubs.current(),
    }),
    startScrub: async (clock) => scrubs.start(clock),
    close: async () => {
      await scrubs.close()
      await threads.close()
    },
  }
}

/** Measures subvolumes of a pool, one call at a time, because each may read a million extents. Shares take turns. */
interface BtrfsUsage {
  /** Returns the usage of each, in the order of the names, with null for a missing one. */
  measure(names: readonly string[], share: string): Promise<(SubvolumeUsage | null)[]>
}

function createBtrfsUsage({ rootFd, threads }: { rootFd: number; threads: FileThreads<BtrfsTasks> }): BtrfsUsage {
  const limiter = createLimiter(1)
  const shares = createKeyedLock()
  const waiting = new Map<string, Promise<(SubvolumeUsage | null)[]>>()
  // Sizes of read-only subvolumes.
  const sizes = new Map<number, number>()
  const measure = async (names: readonly string[]): Promise<(SubvolumeUsage | null)[]> => {
    const ids = new Map(topSubvolumes(rootFd).map(({ name, id }) => [name, Number(id)]))
    const wanted = [...new Set(names)].flatMap((name) => ids.get(name) ?? [])
    const targets = wanted.map((id) => ({ id, knownBytes: sizes.get(id) ?? null }))
    const fd = duplicateFd(rootFd)
    const measured = await threads.run('usage', { name: 'usage', argument: { fd, targets }, fds: [fd] })
    const found = new Map(wanted.map((id, index) => [id, measured[index] ?? null]))
    for (const [id, usage] of found) if (usage?.isReadOnly) sizes.set(id, usage.sizeBytes)
    forget(sizes, ids.values())
    return names.map((name) => {
      const usage = found.get(ids.get(name) ?? -1)
      return usage ? { sizeBytes: usage.sizeBytes, uniqueBytes: usage.uniqueBytes } : null
    })
  }
  return {
    measure: (names, share) => {
      const key = names.join('/')
      const joined = waiting.get(key)
      if (joined !== undefined) return joined
      const measuring = shares.run(share, () =>
        limiter.run(() => {
          waiting.delete(key)
          return measure(names)
        }),
      )
      waiting.set(key, measuring)
      return measuring
    },
  }
}

function forget(sizes: Map<number, number>, alive: Iterable<number>): void {
  const isAlive = new Set(alive)
  for (const id of sizes.keys()) if (!isAlive.has(id)) sizes.delete(id)
}

const TASKS = programFile('agent/drivers/pool/tasks.ts')
// A comparison of a million names takes half of it.
const THREAD_MB = 1024
