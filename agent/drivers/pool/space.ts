import fs from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { repeat } from '../../../shared/repeat.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import type { DiskCapacity } from '../../ports/host/facts.ts'
import { convertErrors } from './faults.ts'
import type { BtrfsPoolOptions, MountedPool } from './pool.ts'

export interface SpaceOptions extends Pick<BtrfsPoolOptions, 'stepBytes' | 'logger'> {
  /** Commits all earlier changes. */
  commit(): Promise<void>
}

/** Manages the free space of a pool. Checks every second whether to grow. Converts errors. */
export interface SpaceKeeper {
  /** Runs work that needs space. When out of space, retries after growing and while the kernel reclaims destroyed subvolumes. */
  use(act: () => void | Promise<void>): Promise<void>
  /** Call it after a subvolume was destroyed. */
  noteFreed(): void
  /** Reports the usage of the pool, including its possible growth. */
  capacity(): Promise<DiskCapacity>
  close(): Promise<void>
}

/** Starts managing the free space of a pool. */
export function createSpaceKeeper(
  pool: Pick<MountedPool, 'mountPath' | 'dataDir' | 'grow' | 'growableBytes' | 'back' | 'isReadOnly'>,
  options: SpaceOptions,
): SpaceKeeper {
  const stopGrowing = startGrowing(pool, options)
  let freedAt = Number.NEGATIVE_INFINITY
  // The kernel reclaims destroyed subvolumes gradually, and may briefly have less space while it moves metadata.
  const mayBeReclaimed = (since: number): boolean => performance.now() < Math.min(freedAt, since) + RECLAIM_MS
  const retryUntilReclaimed = async (act: () => void | Promise<void>): Promise<void> => {
    const since = performance.now()
    for (;;) {
      try {
        return await act()
      } catch (error) {
        if (!isErrno(error, 'ENOSPC') || !mayBeReclaimed(since)) throw error
      }
      await sleep(POLL_MS)
      await options.commit()
    }
  }
  return {
    use: (act) =>
      convertErrors(pool, async () => {
        try {
          await act()
        } catch (error) {
          if (!isErrno(error, 'ENOSPC')) throw error
          // The kernel reclaims destroyed data only after a commit.
          if (!(await pool.grow())) await options.commit()
          await retryUntilReclaimed(act)
        }
      }),
    noteFreed: () => {
      freedAt = performance.now()
    },
    capacity: () =>
      convertErrors(pool, async () => {
        const since = performance.now()
        let space = await fs.statfs(pool.mountPath)
        while (space.bavail === 0 && mayBeReclaimed(since)) {
          await sleep(POLL_MS)
          space = await fs.statfs(pool.mountPath)
        }
        const { blocks, bfree, bavail, bsize } = space
        const growableBytes = await pool.growableBytes()
        return {
          path: pool.dataDir,
          totalBytes: blocks * bsize + growableBytes,
          usedBytes: (blocks - bfree) * bsize,
          availableBytes: bavail * bsize + growableBytes,
        }
      }),
    close: stopGrowing,
  }
}

function startGrowing(
  pool: Pick<MountedPool, 'mountPath' | 'grow' | 'back'>,
  { stepBytes, logger }: SpaceOptions,
): () => Promise<void> {
  let check: Promise<void> | undefined
  let isBacked = false
  const growIfNeeded = async (): Promise<void> => {
    const { bavail, bsize } = await fs.statfs(pool.mountPath)
    if (bavail * bsize < stepBytes / 2) await pool.grow()
    isBacked ||= await pool.back()
  }
  const checkOnce = (): Promise<void> => {
    check ??= growIfNeeded().finally(() => {
      check = undefined
    })
    return check
  }
  const onError = (error: unknown): void => logger.error('failed to grow the storage pool', { error })
  const stop = repeat(checkOnce, { everyMs: CHECK_INTERVAL_MS, onError })
  return async () => {
    stop()
    await check?.catch(() => undefined)
  }
}

const CHECK_INTERVAL_MS = 1_000
/** The upper bound of reclaiming. Measurements showed about 10 ms, and more than five seconds on a busy machine. */
const RECLAIM_MS = 10_000
const POLL_MS = 5
