import { createFileThreads, type FileThreads } from '../../lib/threads/threads.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import { createBtrfsChanges } from './changes.ts'
import { readAllocation, readDeviceErrors } from './condition.ts'
import type { MountedPool } from './pool.ts'
import { createPoolScrubs } from './scrub.ts'
import type { BtrfsTasks } from './tasks.ts'
import { createBtrfsUsage } from './usage.ts'

/** What can be told of a pool and its subvolumes without changing them. */
export interface BtrfsInsight extends Pick<CowFilesystem, 'changes' | 'measure' | 'condition' | 'startScrub'> {
  close(): Promise<void>
}

/** What takes long is done by a thread, which is started at the first call that needs it, and by programs of btrfs. */
export function createBtrfsInsight(pool: MountedPool): BtrfsInsight {
  const threads: FileThreads<BtrfsTasks> = createFileThreads({ module: TASKS, count: 1, memoryMb: THREAD_MB })
  const changes = createBtrfsChanges({ ...pool, threads })
  const usage = createBtrfsUsage({ ...pool, threads })
  const scrubs = createPoolScrubs(pool)
  return {
    changes: (request) => changes.page(request),
    measure: (names) => usage.measure(names),
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

const TASKS = new URL('./tasks.ts', import.meta.url)
// A million names that differ take half of it.
const THREAD_MB = 1024
