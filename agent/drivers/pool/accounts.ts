import fs from 'node:fs/promises'
import path from 'node:path'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { createLimiter, type Limiter } from '../../../shared/locks.ts'
import { controlBuffer } from '../../lib/syscalls/descriptors.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import type { StorageAccounts } from '../../ports/pool/accounts.ts'
import { convertErrors } from './faults.ts'
import { BTRFS, encodeMembership, encodeQuotaGroup } from './ioctls.ts'
import type { MountedPool } from './pool.ts'
import { hasDestroyedRoots } from './roots.ts'
import { searchTree } from './search.ts'
import { groupCounter, limitSubvolume, removeQuotaGroup, topSubvolumes } from './subvolumes.ts'

type AccountsPool = Pick<MountedPool, 'rootFd' | 'mountPath' | 'filesystemId' | 'isReadOnly'>

/**
 * Counts the disk usage of projects by simple quotas. Each project has a qgroup `1/N`, whose members are the qgroups of all its subvolumes.
 * The kernel charges an extent to the subvolume that wrote it. It keeps the qgroup of a deleted subvolume, with its membership, as long as
 * a snapshot has one of its extents.
 *
 * N is the inode number of a file in the pool with the project's name. The kernel uses each inode number only once. The file is in the same
 * transactions as the groups, so they match whichever database is restored beside the pool.
 */
export class ProjectGroups implements StorageAccounts {
  readonly #pool: AccountsPool
  readonly #commit: () => Promise<void>
  readonly #groups = new Map<string, Promise<bigint>>()
  readonly #limits = new Map<bigint, number | null>()
  readonly #lifting: Limiter = createLimiter(1)

  private constructor(pool: AccountsPool, commit: () => Promise<void>) {
    this.#pool = pool
    this.#commit = commit
  }

  /** Reads the groups of a pool, and removes those that have become empty. `commit` commits all earlier changes. */
  static async open(pool: AccountsPool, commit: () => Promise<void>): Promise<ProjectGroups> {
    const accounts = new ProjectGroups(pool, commit)
    for (const project of await accounts.#names()) {
      const file = accounts.#file(project)
      const group = groupOfInode((await fs.stat(file)).ino)
      if (!pool.isReadOnly() && removeQuotaGroup(pool.rootFd, group)) await fs.unlink(file)
      else accounts.#groups.set(project, Promise.resolve(group))
    }
    return accounts
  }

  /** Returns the qgroup of a project, and creates it if there is none. Returns null for the deployment, which has none. */
  async groupOf(project: string | null): Promise<bigint | null> {
    if (project === null) return null
    const known = this.#groups.get(project)
    if (known !== undefined) return known
    const making = this.#make(project)
    this.#groups.set(project, making)
    making.catch(() => this.#groups.delete(project))
    return making
  }

  usedBytes(project: string): Promise<number> {
    return convertErrors(this.#pool, async () => {
      const group = await this.#groups.get(project)
      return group === undefined ? 0 : this.#read(group)
    })
  }

  all(): Promise<Map<string, number>> {
    return convertErrors(this.#pool, async () => {
      const used = new Map<string, number>()
      for (const [project, group] of this.#groups) used.set(project, await this.#read(await group))
      return used
    })
  }

  limit(project: string, bytes: number | null): Promise<void> {
    return convertErrors(this.#pool, async () => {
      if (bytes === null && !this.#groups.has(project)) return
      const group = (await this.groupOf(project)) as bigint
      await this.#lifting.run(async () => {
        this.#limits.set(group, bytes)
        limitSubvolume(this.#pool.rootFd, group, bytes)
      })
    })
  }

  settle(): Promise<void> {
    return convertErrors(this.#pool, async () => {
      const until = performance.now() + SETTLE_MS
      do {
        await this.#commit()
        if (!(await isFreeing(this.#pool.rootFd))) return
        await sleep(POLL_MS)
      } while (performance.now() < until)
    })
  }

  assign(owners: ReadonlyMap<string, string | null>): Promise<void> {
    return convertErrors(this.#pool, async () => {
      const { rootFd } = this.#pool
      const memberships = await this.#memberships()
      let looked = 0
      for (const { id, name } of topSubvolumes(rootFd)) {
        const project = owners.get(name)
        if (project === undefined) continue
        if (++looked % YIELD_EVERY === 0) await nextTurn()
        const wanted = await this.groupOf(project)
        const groups = memberships.get(id) ?? []
        for (const group of groups) if (group !== wanted) this.#change(id, group, 'remove')
        if (wanted !== null && !groups.includes(wanted)) this.#change(id, wanted, 'make')
      }
    })
  }

  /**
   * Runs `work`, a change of the subvolume `id` that the limit of its project must not refuse. If the limit refused it, runs it again
   * without the limit. The kernel refuses to change a flag or to remove a name if the limit is below the project's usage.
   */
  async pastBound(id: bigint, work: () => void | Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!isErrno(error, 'EDQUOT')) throw error
      await this.#unbounded(id, work)
    }
  }

  async #unbounded(id: bigint, work: () => void | Promise<void>): Promise<void> {
    const { rootFd } = this.#pool
    await this.#lifting.run(async () => {
      const groups = (await this.#memberships()).get(id) ?? []
      try {
        for (const group of groups) limitSubvolume(rootFd, group, null)
        await work()
      } finally {
        for (const group of groups) limitSubvolume(rootFd, group, this.#limits.get(group) ?? null)
      }
    })
  }

  async #make(project: string): Promise<bigint> {
    await fs.mkdir(path.join(this.#pool.mountPath, DIRECTORY), { recursive: true, mode: 0o700 })
    const file = await fs.open(this.#file(project), 'a', 0o600)
    try {
      const group = groupOfInode((await file.stat()).ino)
      makeGroup(this.#pool.rootFd, group)
      return group
    } finally {
      await file.close()
    }
  }

  // The kernel has reserved space for data that is written but not on the disk yet.
  async #read(group: bigint): Promise<number> {
    const name = `1_${group - LEVEL_1}`
    const { filesystemId } = this.#pool
    return (await groupCounter(filesystemId, name, 'referenced')) + (await groupCounter(filesystemId, name, 'rsv_data'))
  }

  #change(id: bigint, group: bigint, action: 'make' | 'remove'): void {
    try {
      controlBuffer(this.#pool.rootFd, BTRFS.QGROUP_ASSIGN, encodeMembership(id, group, action))
    } catch (error) {
      // The subvolume has been destroyed since, or has become a member.
      if (!isErrno(error, 'ENOENT', 'EEXIST', 'EINVAL')) throw error
    }
  }

  async #memberships(): Promise<Map<bigint, bigint[]>> {
    const found = new Map<bigint, bigint[]>()
    const reading = searchTree(this.#pool.rootFd, QUOTA_TREE, ({ objectId, type, offset }) => {
      const [member, group] = [BigInt(objectId), BigInt(offset)]
      // The kernel stores each relation in both directions.
      if (type !== RELATION_KEY || member >= LEVEL_1) return
      found.set(member, [...(found.get(member) ?? []), group])
    })
    while (reading.next().done !== true) await nextTurn()
    return found
  }

  async #names(): Promise<string[]> {
    try {
      return await fs.readdir(path.join(this.#pool.mountPath, DIRECTORY))
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return []
      throw error
    }
  }

  #file(project: string): string {
    if (!/^[a-z0-9-]{1,64}$/.test(project)) throw new Error(`not the name of a project: ${JSON.stringify(project)}`)
    return path.join(this.#pool.mountPath, DIRECTORY, project)
  }
}

function makeGroup(rootFd: number, group: bigint): void {
  try {
    controlBuffer(rootFd, BTRFS.QGROUP_CREATE, encodeQuotaGroup(group, 'make'))
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error
  }
}

async function isFreeing(rootFd: number): Promise<boolean> {
  const reading = hasDestroyedRoots(rootFd)
  for (let step = reading.next(); ; step = reading.next()) {
    if (step.done === true) return step.value
    await nextTurn()
  }
}

function groupOfInode(inode: number): bigint {
  return LEVEL_1 + BigInt(inode)
}

const DIRECTORY = '.accounts'
/** The first qgroup of level 1. Lower ids are qgroups of subvolumes. */
const LEVEL_1 = 1n << 48n
const QUOTA_TREE = { treeId: 8, minGeneration: 0, maxGeneration: Number.MAX_SAFE_INTEGER }
const RELATION_KEY = 246
const YIELD_EVERY = 64
const SETTLE_MS = 2_000
const POLL_MS = 20
