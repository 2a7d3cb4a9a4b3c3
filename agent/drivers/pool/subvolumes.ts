import fs from 'node:fs/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { closeFd, controlBuffer, controlBufferAsync } from '../../lib/syscalls/descriptors.ts'
import { O, openBelow, openHandle } from '../../lib/syscalls/files.ts'
import { addressOf, isErrno } from '../../lib/syscalls/libc.ts'
import {
  BTRFS,
  decodeChildSearch,
  decodeSubvolumeLookup,
  encodeChildSearch,
  encodeDestroyById,
  encodeNewSubvolume,
  encodeQuotaGroup,
  encodeQuotaLimit,
  encodeSubvolumeHandle,
  encodeSubvolumeLookup,
  encodeVolumeArgs,
  SUBVOLUME_READ_ONLY,
  type SubvolumeReference,
  TOP_SUBVOLUME_ID,
} from './ioctls.ts'

/** Runs `use` with a descriptor of the subvolume `name` at the top of the pool, without following a link. */
export async function withSubvolume<T>(rootFd: number, name: string, use: (fd: number) => T | Promise<T>): Promise<T> {
  const fd = openBelow(rootFd, name, { flags: O.RDONLY | O.DIRECTORY | O.NOFOLLOW })
  try {
    return await use(fd)
  } finally {
    closeFd(fd)
  }
}

/** Creates an empty subvolume, whose qgroup is a member of `group`. Not durable before the next commit. */
export function createSubvolume(rootFd: number, name: string, group: bigint | null): void {
  const args = { sourceFd: null, name, isReadOnly: false, quotaBytes: null, group }
  controlBuffer(rootFd, BTRFS.SUBVOL_CREATE_V2, encodeNewSubvolume(args, addressOf))
}

/** A snapshot to make, whose qgroup becomes a member of `group`. */
export interface SubvolumeCopy {
  source: string
  name: string
  isReadOnly: boolean
  quotaBytes: number | null
  group: bigint | null
}

/** Creates a durable snapshot, with its quota and owner from the start. Commits on a worker thread, which takes milliseconds. */
export async function snapshotSubvolume(rootFd: number, { source, ...copy }: SubvolumeCopy): Promise<void> {
  await withSubvolume(rootFd, source, (sourceFd) => {
    const args = encodeNewSubvolume({ ...copy, sourceFd }, addressOf)
    return controlBufferAsync(rootFd, BTRFS.SNAP_CREATE_V2, args)
  })
}

/** Sets or clears the read-only flag of a subvolume. Durable on return. */
export function setSubvolumeReadOnly(fd: number, isReadOnly: boolean): void {
  const flags = Buffer.alloc(8)
  controlBuffer(fd, BTRFS.SUBVOL_GETFLAGS, flags)
  const before = flags.readBigUInt64LE(0)
  const after = isReadOnly ? before | SUBVOLUME_READ_ONLY : before & ~SUBVOLUME_READ_ONLY
  if (after === before) return
  flags.writeBigUInt64LE(after, 0)
  controlBuffer(fd, BTRFS.SUBVOL_SETFLAGS, flags)
}

/**
 * Limits the bytes of future writes to a subvolume. Null lifts the limit. Not durable before the next commit. `rootFd` must lie outside the
 * subvolume, because from within a full one the call itself fails.
 */
export function limitSubvolume(rootFd: number, id: bigint, quotaBytes: number | null): void {
  controlBuffer(rootFd, BTRFS.QGROUP_LIMIT, encodeQuotaLimit(id, quotaBytes))
}

/** Returns the id of the subvolume that `fd` is in. */
export function subvolumeId(fd: number): bigint {
  const lookup = encodeSubvolumeLookup()
  controlBuffer(fd, BTRFS.INO_LOOKUP, lookup)
  return decodeSubvolumeLookup(lookup)
}

/** Lists the subvolumes directly in the subvolume `parentId` from the root tree, without walking a path. */
export function childSubvolumes(rootFd: number, parentId: bigint): SubvolumeReference[] {
  const children: SubvolumeReference[] = []
  for (let fromId = 0n; ; ) {
    const search = encodeChildSearch(parentId, fromId)
    controlBuffer(rootFd, BTRFS.TREE_SEARCH, search)
    const found = decodeChildSearch(search)
    const last = found.at(-1)
    if (last === undefined) return children
    children.push(...found)
    fromId = last.id + 1n
  }
}

/** Lists the subvolumes at the top of the pool. */
export function topSubvolumes(rootFd: number): SubvolumeReference[] {
  return childSubvolumes(rootFd, TOP_SUBVOLUME_ID)
}

/** Runs a change of the subvolume `id` that the limit of its project must not refuse. May run it twice. */
export interface BoundLifter {
  pastBound(id: bigint, work: () => Promise<void>): Promise<void>
}

/** Destroys a subvolume at the top and all nested ones, deepest first. Not durable before the next commit. */
export async function destroySubvolume(rootFd: number, name: string, lifter: BoundLifter): Promise<void> {
  let id: bigint
  try {
    id = await withSubvolume(rootFd, name, subvolumeId)
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return
    throw error
  }
  if (id === TOP_SUBVOLUME_ID) throw new Error(`${name} is no subvolume`)
  await lifter.pastBound(id, async () => {
    const nested = await nestedSubvolumes(rootFd, id)
    if (nested.length > 0) await destroyNested(rootFd, id, nested)
  })
  // Waits for a commit that is under way.
  await controlBufferAsync(rootFd, BTRFS.SNAP_DESTROY, encodeVolumeArgs(name))
}

/** Removes a qgroup. Returns false if it is absent, still accounts for bytes, or has a subvolume or members. */
export function removeQuotaGroup(rootFd: number, id: bigint): boolean {
  try {
    controlBuffer(rootFd, BTRFS.QGROUP_CREATE, encodeQuotaGroup(id, 'remove'))
    return true
  } catch (error) {
    if (isErrno(error, 'EBUSY', 'ENOENT', 'ENOTCONN')) return false
    throw error
  }
}

/** Returns a counter of the qgroup `level/id`, in bytes, or 0 if there is no such group. */
export async function groupCounter(
  filesystemId: string,
  group: string,
  counter: 'referenced' | 'rsv_data',
): Promise<number> {
  try {
    return Number(await fs.readFile(`${quotaDirectory(filesystemId)}/${group}/${counter}`, 'utf8'))
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return 0
    throw error
  }
}

/** Lists the ids of the subvolumes that have a qgroup, destroyed ones included. */
export async function quotaGroupIds(filesystemId: string): Promise<bigint[]> {
  const names = await fs.readdir(quotaDirectory(filesystemId))
  return names.filter((name) => /^0_\d+$/.test(name)).map((name) => BigInt(name.slice(2)))
}

async function nestedSubvolumes(rootFd: number, id: bigint): Promise<bigint[]> {
  const nested: bigint[] = []
  const parents = [id]
  for (let parent = parents.pop(); parent !== undefined; parent = parents.pop()) {
    for (const child of childSubvolumes(rootFd, parent)) {
      nested.push(child.id)
      parents.push(child.id)
    }
    if (nested.length % YIELD_EVERY === YIELD_EVERY - 1) await nextTurn()
  }
  // A parent always comes before its children.
  return nested.reverse()
}

async function destroyNested(rootFd: number, topId: bigint, nested: readonly bigint[]): Promise<void> {
  // Removing a name from a full or read-only subvolume fails, and a box may have left both behind.
  for (const id of [topId, ...nested]) {
    limitSubvolume(rootFd, id, null)
    withSubvolumeId(rootFd, id, (fd) => setSubvolumeReadOnly(fd, false))
  }
  for (const id of nested) {
    await controlBufferAsync(rootFd, BTRFS.SNAP_DESTROY_V2, encodeDestroyById(id))
  }
}

function withSubvolumeId(rootFd: number, id: bigint, use: (fd: number) => void): void {
  const fd = openHandle(rootFd, { bytes: encodeSubvolumeHandle(id), mountId: 0 }, O.RDONLY | O.DIRECTORY)
  try {
    use(fd)
  } finally {
    closeFd(fd)
  }
}

function quotaDirectory(filesystemId: string): string {
  return `/sys/fs/btrfs/${filesystemId}/qgroups`
}

const YIELD_EVERY = 64
