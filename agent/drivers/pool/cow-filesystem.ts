import fs from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { shareRuns } from '../../../shared/locks.ts'
import { createProjectTurns } from '../../../shared/project-turns.ts'
import { controlBufferAsync, syncFilesystem } from '../../lib/syscalls/descriptors.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import type { StorageAccounts } from '../../ports/pool/accounts.ts'
import type { CowFilesystem, SnapshotRequest } from '../../ports/pool/cow-filesystem.ts'
import type { ChangesRequest } from '../../ports/pool/tree-changes.ts'
import { ProjectGroups } from './accounts.ts'
import { withSoundWrites } from './condition.ts'
import { checkWritable, convertErrors, convertReadErrors } from './faults.ts'
import { createBtrfsInsight } from './insight.ts'
import { BTRFS } from './ioctls.ts'
import { type BtrfsPoolOptions, type MountedPool, mountPool } from './pool.ts'
import { createSpaceKeeper } from './space.ts'
import {
  createSubvolume,
  destroySubvolume,
  groupCounter,
  limitSubvolume,
  quotaGroupIds,
  removeQuotaGroup,
  setSubvolumeReadOnly,
  snapshotSubvolume,
  subvolumeId,
  topSubvolumes,
  withSubvolume,
} from './subvolumes.ts'
import { receiveChain, sendSubvolume } from './transfer.ts'

/** A copy-on-write pool that can grow. */
export interface BtrfsPool extends CowFilesystem {
  /** Space usage of its subvolumes, by project. */
  accounts: StorageAccounts
  /** Grows the pool by a step. Returns false if the host has no space above its reserve. */
  grow(): Promise<boolean>
}

/**
 * Opens the copy-on-write pool in `<dataDir>/pool.img`, a btrfs filesystem on a loop device, mounted at
 * `<runDir>/pool`. Its id is the random one of the filesystem.
 */
export async function openBtrfsPool(options: BtrfsPoolOptions): Promise<BtrfsPool> {
  const pool = await mountPool(options)
  const commit = createCommits(pool.rootFd)
  // The kernel serializes commits, so more at once would only occupy the worker threads that all file calls share. Others wait for each,
  // including those that only sync a file.
  const turns = createProjectTurns({ atOnce: SNAPSHOTS_AT_ONCE, pause: SNAPSHOT_PAUSE })
  const space = createSpaceKeeper(pool, { ...options, commit })
  const insight = createBtrfsInsight(pool, options)
  if (!pool.isReadOnly()) await removeStaleQuotaGroups(pool)
  const accounts = await ProjectGroups.open(pool, commit)
  return {
    accounts,
    kind: 'btrfs',
    poolId: pool.filesystemId,
    grow: pool.grow,
    path: (name) => path.join(pool.mountPath, checkedName(name)),
    exists: async (name) => convertErrors(pool, () => hasSubvolume(pool, checkedName(name))),
    list: async () => convertErrors(pool, () => topSubvolumes(pool.rootFd).map((subvolume) => subvolume.name)),
    create: async (name, project) => {
      await space.use(async () => createSubvolume(pool.rootFd, checkedName(name), await accounts.groupOf(project)))
      await convertErrors(pool, commit)
    },
    snapshot: async (request) => {
      const { project, ...copy } = checkedRequest(request)
      const act = async (): Promise<void> =>
        snapshotSubvolume(pool.rootFd, { ...copy, group: await accounts.groupOf(project) })
      return space.use(() => turns.run(project ?? '', () => withSoundWrites(pool.rootFd, act)))
    },
    setReadOnly: (name, isReadOnly) =>
      convertErrors(pool, () => setReadOnly(pool, accounts, { name: checkedName(name), isReadOnly })),
    setQuota: (name, quotaBytes) =>
      convertErrors(pool, async () => {
        const id = await withSubvolume(pool.rootFd, checkedName(name), subvolumeId)
        limitSubvolume(pool.rootFd, id, quotaBytes)
        await commit()
      }),
    destroy: async (name) => {
      // Deleting writes too. A write that fails on a full disk below would end all other writes as well.
      await checkWritable(pool)
      await convertErrors(pool, () => destroySubvolume(pool.rootFd, checkedName(name), accounts))
      space.noteFreed()
      await convertErrors(pool, commit)
    },
    origin: (name) => convertErrors(pool, () => originOf(path.join(pool.mountPath, checkedName(name)))),
    commit: () => convertErrors(pool, commit),
    usedBytes: (name) =>
      convertErrors(pool, async () => {
        const id = await withSubvolume(pool.rootFd, checkedName(name), subvolumeId)
        return groupCounter(pool.filesystemId, `0_${id}`, 'referenced')
      }),
    changes: (request) => convertErrors(pool, () => insight.changes(checkedPair(request))),
    measure: (names, share) => convertErrors(pool, () => insight.measure(names.map(checkedName), share)),
    ...createTransfers(pool, accounts),
    withSoundWrites: (work) => convertErrors(pool, () => withSoundWrites(pool.rootFd, work)),
    capacity: space.capacity,
    checkWritable: () => checkWritable(pool),
    condition: () => convertErrors(pool, insight.condition),
    startScrub: (clock) => convertErrors(pool, () => insight.startScrub(clock)),
    close: async () => {
      await insight.close()
      await space.close()
      await pool.close()
    },
  }
}

async function setReadOnly(
  { rootFd }: MountedPool,
  accounts: ProjectGroups,
  { name, isReadOnly }: { name: string; isReadOnly: boolean },
): Promise<void> {
  await withSubvolume(rootFd, name, async (fd) => {
    // A commit only keeps the size that files had when last written out, which is mostly 0.
    if (isReadOnly) await withSoundWrites(rootFd, () => syncFilesystem(fd))
    await accounts.pastBound(subvolumeId(fd), () => setSubvolumeReadOnly(fd, isReadOnly))
  })
}

function createTransfers(pool: MountedPool, accounts: ProjectGroups): Pick<CowFilesystem, 'send' | 'receive'> {
  return {
    send: ({ name, parent, maxBytes, signal }) => {
      const from = parent === null ? null : checkedName(parent)
      const request = { name: checkedName(name), parent: from, signal, ...(maxBytes === undefined ? {} : { maxBytes }) }
      return convertReadErrors(pool, sendSubvolume(pool, request), signal)
    },
    receive: ({ project, ...request }) =>
      convertErrors(pool, async () => {
        checkedName(request.container)
        checkedName(request.name)
        const group = await accounts.groupOf(project)
        try {
          await withSoundWrites(pool.rootFd, () => receiveChain(pool, { ...request, group }))
        } catch (error) {
          if (isErrno(error, 'EDQUOT')) throw error
          if (pool.isReadOnly()) throw Object.assign(new Error('the disk failed', { cause: error }), { code: 'EROFS' })
          if (isErrno(error, 'ENOSPC') || !(await isFull(pool))) throw error
          throw Object.assign(new Error('the pool is full', { cause: error }), { code: 'ENOSPC' })
        }
      }),
  }
}

// A snapshot keeps the top directory of its source, including its birth time.
async function originOf(directory: string): Promise<string | null> {
  try {
    return String((await fs.stat(directory, { bigint: true })).birthtimeNs)
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null
    throw error
  }
}

/** Creates a function that commits all earlier changes. Callers that wait while a commit runs share the next one. */
function createCommits(rootFd: number): () => Promise<void> {
  return shareRuns(async () => {
    const transaction = Buffer.alloc(8)
    await startSync(rootFd, transaction)
    await controlBufferAsync(rootFd, BTRFS.WAIT_SYNC, transaction)
  })
}

/**
 * Starts a commit. The kernel's thread may miss a request while it ends the previous commit, and would sleep until its periodic one,
 * every 30 s. A repeated request wakes it.
 */
async function startSync(rootFd: number, transaction: Buffer): Promise<void> {
  const requests = [controlBufferAsync(rootFd, BTRFS.START_SYNC, transaction)]
  const [first] = requests
  const isOver = first?.then(() => true).catch(() => true)
  while (requests.length < REQUESTS_MAX && !(await Promise.race([isOver, sleep(REPEAT_MS, false)])))
    requests.push(controlBufferAsync(rootFd, BTRFS.START_SYNC, Buffer.alloc(8)))
  await Promise.all(requests)
}

/** Removes the qgroups of destroyed subvolumes. The kernel removes most itself. Those with shared data stay until that data is freed. */
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

// A program that is killed or stops early on a full pool may not report why.
async function isFull(pool: MountedPool): Promise<boolean> {
  const { bavail, bsize } = await fs.statfs(pool.mountPath)
  return bavail * bsize < FULL_BYTES
}

function checkedRequest(request: SnapshotRequest): SnapshotRequest {
  checkedName(request.source)
  checkedName(request.name)
  return request
}

function checkedPair(request: ChangesRequest): ChangesRequest {
  checkedName(request.from)
  checkedName(request.to)
  return request
}

function checkedName(name: string): string {
  if (!/^[a-z0-9_]{1,64}$/.test(name)) throw new Error(`not the name of a subvolume: ${JSON.stringify(name)}`)
  return name
}

/** Number of concurrent snapshots, including roots of new boxes. */
export const SNAPSHOTS_AT_ONCE = 1
// After its commit a snapshot costs the kernel as much again. Deleting it costs the same.
const SNAPSHOT_PAUSE = 3

const FULL_BYTES = 16 * 1024 ** 2
const REPEAT_MS = 100
// Each occupies a worker thread while it waits.
const REQUESTS_MAX = 3
const FIRST_SUBVOLUME_ID = 256n
