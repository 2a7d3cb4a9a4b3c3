import fs from 'node:fs/promises'
import path from 'node:path'
import { ServiceError } from '../../shared/errors.ts'
import { controlBufferAsync, syncFilesystem } from '../lib/syscalls.ts'
import { isErrno } from '../lib/syscalls-libc.ts'
import type { CowFilesystem, PoolCapacity, SnapshotRequest } from '../ports/cow-filesystem.ts'
import { BTRFS } from './btrfs-ioctls.ts'
import type { BtrfsPoolOptions, MountedPool } from './btrfs-pool.ts'
import { mountPool } from './btrfs-pool.ts'
import {
  countedBytes,
  createSubvolume,
  destroySubvolume,
  limitSubvolume,
  quotaGroupIds,
  removeQuotaGroup,
  setSubvolumeReadOnly,
  snapshotSubvolume,
  subvolumeId,
  topSubvolumes,
  withSubvolume,
} from './btrfs-subvolumes.ts'

/** A copy-on-write pool that can be made larger. */
export interface BtrfsPool extends CowFilesystem {
  /** Makes the pool a step larger; false if the host has no room above its reserve. */
  grow(): Promise<boolean>
}

/**
 * The copy-on-write pool in `<dataDir>/pool.img`, a btrfs filesystem on a loop device, mounted at `<runDir>/pool`.
 * It looks every second whether it has to grow. Its id is the random one of the filesystem.
 */
export async function openBtrfsPool(options: BtrfsPoolOptions): Promise<BtrfsPool> {
  const pool = await mountPool(options)
  const commit = createCommits(pool.rootFd)
  const inTurn = createTurns()
  const space = createSpaceKeeper(pool, options)
  await removeStaleQuotaGroups(pool)
  return {
    kind: 'btrfs',
    poolId: pool.filesystemId,
    grow: pool.grow,
    path: (name) => path.join(pool.mountPath, checkedName(name)),
    exists: async (name) => converted(() => hasSubvolume(pool, checkedName(name))),
    list: async () => converted(() => topSubvolumes(pool.rootFd).map((subvolume) => subvolume.name)),
    create: async (name) => {
      await space.use(() => createSubvolume(pool.rootFd, checkedName(name)))
      await converted(commit)
    },
    snapshot: (request) => space.use(() => inTurn(() => snapshotSubvolume(pool.rootFd, checkedRequest(request)))),
    setReadOnly: (name, isReadOnly) =>
      converted(() =>
        withSubvolume(pool.rootFd, checkedName(name), async (fd) => {
          // A commit alone leaves files as long as they were when last written out: empty, mostly.
          if (isReadOnly) await syncFilesystem(fd)
          setSubvolumeReadOnly(fd, isReadOnly)
        }),
      ),
    setQuota: (name, quotaBytes) =>
      converted(async () => {
        const id = await withSubvolume(pool.rootFd, checkedName(name), subvolumeId)
        limitSubvolume(pool.rootFd, id, quotaBytes)
        await commit()
      }),
    destroy: async (name) => {
      await converted(() => destroySubvolume(pool.rootFd, checkedName(name)))
      await converted(commit)
    },
    usedBytes: (name) =>
      converted(async () => {
        const id = await withSubvolume(pool.rootFd, checkedName(name), subvolumeId)
        return countedBytes(pool.filesystemId, id)
      }),
    capacity: () => measureCapacity(pool),
    close: async () => {
      await space.close()
      await pool.close()
    },
  }
}

/**
 * Makes what was done so far durable. Callers that wait while a commit runs share the next one, since the running one
 * may have begun before their change.
 */
function createCommits(rootFd: number): () => Promise<void> {
  let tail: Promise<void> = Promise.resolve()
  let queued: Promise<void> | undefined
  const flush = async (): Promise<void> => {
    queued = undefined
    const transaction = Buffer.alloc(8)
    await controlBufferAsync(rootFd, BTRFS.START_SYNC, transaction)
    await controlBufferAsync(rootFd, BTRFS.WAIT_SYNC, transaction)
  }
  return () => {
    if (queued === undefined) {
      queued = tail.then(flush)
      tail = queued.catch(() => undefined)
    }
    return queued
  }
}

/**
 * One after another: commits do not overlap in the kernel, and more at once would only take the pool threads of all
 * file calls.
 */
function createTurns(): (act: () => Promise<void>) => Promise<void> {
  let tail: Promise<void> = Promise.resolve()
  return (act) => {
    const turn = tail.then(act)
    tail = turn.catch(() => undefined)
    return turn
  }
}

interface SpaceKeeper {
  /** Runs what needs space; out of space, once more after the pool grew. Foreign errors come out converted. */
  use(act: () => void | Promise<void>): Promise<void>
  close(): Promise<void>
}

function createSpaceKeeper(pool: MountedPool, options: BtrfsPoolOptions): SpaceKeeper {
  let check: Promise<void> | undefined
  const look = async (): Promise<void> => {
    try {
      const { bavail, bsize } = await fs.statfs(pool.mountPath)
      if (bavail * bsize < options.stepBytes / 2) await pool.grow()
    } catch (error) {
      options.logger.error('the storage pool could not grow', { error })
    }
  }
  const timer = setInterval(() => {
    check ??= look().finally(() => {
      check = undefined
    })
  }, CHECK_INTERVAL_MS)
  timer.unref()
  return {
    use: (act) =>
      converted(async () => {
        try {
          await act()
        } catch (error) {
          if (!isErrno(error, 'ENOSPC') || !(await pool.grow())) throw error
          await act()
        }
      }),
    close: async () => {
      clearInterval(timer)
      await check
    },
  }
}

/**
 * Accounts of subvolumes that are gone; the kernel removes most itself, those with shared data stay until it is free.
 */
async function removeStaleQuotaGroups(pool: MountedPool): Promise<void> {
  const ids = await quotaGroupIds(pool.filesystemId)
  const alive = new Set(topSubvolumes(pool.rootFd).map((subvolume) => subvolume.id))
  for (const id of ids) {
    if (id >= FIRST_SUBVOLUME_ID && !alive.has(id)) removeQuotaGroup(pool.rootFd, id)
  }
}

async function hasSubvolume(pool: MountedPool, name: string): Promise<boolean> {
  try {
    await withSubvolume(pool.rootFd, name, () => undefined)
    return true
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return false
    throw error
  }
}

/** The pool as it is, with what it can still grow by. */
async function measureCapacity(pool: MountedPool): Promise<PoolCapacity> {
  const { blocks, bfree, bavail, bsize } = await fs.statfs(pool.mountPath)
  const growableBytes = await pool.growableBytes()
  return {
    path: pool.dataDir,
    totalBytes: blocks * bsize + growableBytes,
    usedBytes: (blocks - bfree) * bsize,
    availableBytes: bavail * bsize + growableBytes,
  }
}

async function converted<T>(act: () => T | Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (isErrno(error, 'ENOSPC', 'EDQUOT')) {
      throw new ServiceError('storage_full', 'The storage of this host is full.', { cause: error })
    }
    throw new ServiceError('internal', 'The storage refused the operation; the reason is logged.', { cause: error })
  }
}

function checkedRequest(request: SnapshotRequest): SnapshotRequest {
  checkedName(request.source)
  checkedName(request.name)
  return request
}

function checkedName(name: string): string {
  if (!/^[a-z0-9_]{1,64}$/.test(name)) throw new Error(`not the name of a subvolume: ${JSON.stringify(name)}`)
  return name
}

const CHECK_INTERVAL_MS = 1_000
const FIRST_SUBVOLUME_ID = 256n
