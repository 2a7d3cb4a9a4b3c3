import { CLONE, closeFd, enterNamespace } from '../syscalls/descriptors.ts'
import { makeDirectoryAt, mountPlace, O, openBelow, RESOLVE } from '../syscalls/files.ts'
import { isErrno } from '../syscalls/libc.ts'
import { AT, attachMountTo, pivotRoot, UMOUNT, unmount } from '../syscalls/mounts.ts'
import { enterDirectory, setFileOwner } from '../syscalls/threads.ts'

/** What to do in the mount namespace that `namespaceFd` is open on. */
export type NamespaceTask = AttachTask | LocateTask | UnmountTask | RootTask

/** Attaches a detached mount at `path`, whose missing directories are made (0755). */
export interface AttachTask {
  act: 'attach'
  namespaceFd: number
  /** A detached mount, as `cloneMount` gives it. */
  treeFd: number
  /** Absolute; links lead nowhere out of the namespace's root. */
  path: string
  /** The user and group, on this side, that missing directories belong to. */
  owner: number
  /** The mounts of the namespace on which the directory may lie. */
  mountIds: readonly number[]
}

/** Finds what is mounted exactly at `path`. */
export interface LocateTask {
  act: 'locate'
  namespaceFd: number
  path: string
}

/** Takes away the mount `mountId`, if it still is at `path`: the bytes that `mountinfo` tells, one character each. */
export interface UnmountTask {
  act: 'unmount'
  namespaceFd: number
  path: string
  mountId: number
}

/**
 * What came of it: `taken` by a mount that is there, `foreign` is a directory on none of the given mounts, `moved` that
 * the mount is elsewhere or gone, `busy` that something uses it. Nothing was changed but by `attached` and `unmounted`.
 */
export type NamespaceOutcome =
  | { end: 'attached' | 'foreign' | 'nothing' | 'unmounted' | 'moved' | 'busy' }
  | { end: 'taken'; mountId: number }

/**
 * Does `task` and comes back to the namespace `homeFd`. Synchronous, since nothing else of this process may run meanwhile;
 * the thread must have a root of its own, and its functions of libc bound. Throws a SyscallError of what failed, with the
 * thread back home, or calls `onLost`, which must end the thread, if it cannot come back.
 */
export function actInNamespace(homeFd: number, task: NamespaceTask, onLost: () => never): NamespaceOutcome {
  enterNamespace(task.namespaceFd, CLONE.NEWNS)
  try {
    const rootFd = openBelow(AT.FDCWD, '/', DIRECTORY)
    try {
      return act(rootFd, task)
    } finally {
      closeFd(rootFd)
    }
  } finally {
    comeBack(homeFd, onLost)
  }
}

function comeBack(homeFd: number, onLost: () => never): void {
  try {
    enterNamespace(homeFd, CLONE.NEWNS)
  } catch {
    onLost()
  }
}

function act(rootFd: number, task: NamespaceTask): NamespaceOutcome {
  if (task.act === 'attach') return attach(rootFd, task)
  if (task.act === 'locate') return locate(rootFd, task)
  if (task.act === 'root') return replaceRoot(rootFd, task)
  return unmountAt(rootFd, task)
}

/** Does an attach below `rootFd`, whose namespace this thread is in. Throws a SyscallError of what failed. */
export function attach(rootFd: number, task: Omit<AttachTask, 'act' | 'namespaceFd'>): NamespaceOutcome {
  const targetFd = openTarget(rootFd, task)
  if (targetFd === null) return { end: 'foreign' }
  try {
    const { mountId, isMountRoot } = mountPlace(targetFd)
    if (!task.mountIds.includes(mountId)) return { end: 'foreign' }
    if (isMountRoot) return { end: 'taken', mountId }
    attachMountTo(task.treeFd, targetFd)
    return { end: 'attached' }
  } finally {
    closeFd(targetFd)
  }
}

function locate(rootFd: number, { path }: LocateTask): NamespaceOutcome {
  const fd = tryOpen(rootFd, path)
  if (fd === null) return { end: 'nothing' }
  try {
    const { mountId, isMountRoot } = mountPlace(fd)
    return isMountRoot ? { end: 'taken', mountId } : { end: 'nothing' }
  } finally {
    closeFd(fd)
  }
}

// The name in its directory, which cannot be renamed while something is mounted there, stays right whatever is renamed
// above. An open descriptor of the mount itself would make it busy.
function unmountAt(rootFd: number, { path, mountId }: UnmountTask): NamespaceOutcome {
  const cut = path.lastIndexOf('/')
  const name = bytesOf(path.slice(cut + 1))
  const parentFd = tryOpen(rootFd, bytesOf(path.slice(0, cut) || '/'))
  if (parentFd === null) return { end: 'moved' }
  try {
    if (!isMount(parentFd, name, mountId)) return { end: 'moved' }
    enterDirectory(parentFd)
    unmount(name, UMOUNT.NOFOLLOW)
    return { end: 'unmounted' }
  } catch (error) {
    if (isErrno(error, 'EBUSY')) return { end: 'busy' }
    throw error
  } finally {
    closeFd(parentFd)
  }
}

function isMount(parentFd: number, name: Buffer, mountId: number): boolean {
  const fd = tryOpen(parentFd, name)
  if (fd === null) return false
  try {
    const place = mountPlace(fd)
    return place.isMountRoot && place.mountId === mountId
  } finally {
    closeFd(fd)
  }
}

function openTarget(rootFd: number, task: Omit<AttachTask, 'act' | 'namespaceFd'>): number | null {
  const names = task.path.split('/').filter((name) => name !== '')
  let depth = names.length
  let fd = tryOpenPrefix(rootFd, names)
  while (fd === null) fd = tryOpenPrefix(rootFd, names.slice(0, --depth))
  for (const name of names.slice(depth)) {
    const parentFd = fd
    try {
      if (!task.mountIds.includes(mountPlace(parentFd).mountId)) return null
      makeDirectory(parentFd, name, task.owner)
      fd = openBelow(parentFd, name, { flags: O.PATH | O.DIRECTORY | O.NOFOLLOW, resolve: STRICT })
    } finally {
      closeFd(parentFd)
    }
  }
  return fd
}

// Null if something on the way is missing, which the root is not.
function tryOpenPrefix(rootFd: number, names: readonly string[]): number | null {
  try {
    return openBelow(rootFd, `/${names.join('/')}`, DIRECTORY)
  } catch (error) {
    if (isErrno(error, 'ENOENT') && names.length > 0) return null
    throw error
  }
}

// What is there already is a link that leads nowhere, which cannot be opened next, or was made just now.
function makeDirectory(parentFd: number, name: string, owner: number): void {
  setFileOwner(owner)
  try {
    makeDirectoryAt(parentFd, name, 0o755)
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error
  } finally {
    setFileOwner(0)
  }
}

function tryOpen(rootFd: number, path: string | Buffer): number | null {
  try {
    return openBelow(rootFd, path, DIRECTORY)
  } catch (error) {
    if (isErrno(error, ...PATH_FAULTS)) return null
    throw error
  }
}

function bytesOf(path: string): Buffer {
  return Buffer.from(`${path}\0`, 'latin1')
}

/** Gives the mount namespace that `namespaceFd` is open on another root. */
interface RootTask {
  act: 'root'
  namespaceFd: number
  /** A detached mount, as `cloneMount` gives it: the root to be. */
  treeFd: number
  /** Directories at the top of both roots whose mounts, with all below, go along. */
  directories: readonly string[]
  /** Detached mounts of files, and where they go, below the new root. */
  files: readonly { path: string; fd: number }[]
}

/**
 * Replaces the root of all processes in a mount namespace by `treeFd`, and unmounts the old one. Every mount point in the new root must
 * exist and be no link. Throws a SyscallError with the namespace half changed: nothing may run in it then.
 */
function replaceRoot(rootFd: number, { treeFd, directories, files }: RootTask): { end: 'attached' } {
  const moved: { path: string; fd: number }[] = []
  try {
    for (const path of directories) {
      const fd = openBelow(rootFd, path, { flags: O.PATH | O.DIRECTORY, resolve: BELOW })
      moved.push({ path, fd })
    }
    attachMountTo(treeFd, rootFd)
    for (const { path, fd } of [...moved, ...files]) attachBelow(treeFd, path, fd)
    enterDirectory(treeFd)
    // Pivots onto itself, which needs no directory for the old root and stacks that over the new one.
    pivotRoot('.', '.')
    enterDirectory(rootFd)
    unmount('.', UMOUNT.DETACH)
  } finally {
    for (const { fd } of moved) closeFd(fd)
  }
  return { end: 'attached' }
}

function attachBelow(treeFd: number, path: string, mountFd: number): void {
  const placeFd = openBelow(treeFd, path, { flags: O.PATH | O.NOFOLLOW, resolve: BELOW | RESOLVE.NO_XDEV })
  try {
    attachMountTo(mountFd, placeFd)
  } finally {
    closeFd(placeFd)
  }
}

/** What the owner of a namespace can make of a path: nothing there, a file, a loop, a way out, renames without end. */
export const PATH_FAULTS = ['ENOENT', 'ENOTDIR', 'ELOOP', 'EXDEV', 'EAGAIN', 'EACCES', 'ENAMETOOLONG'] as const

const DIRECTORY = { flags: O.PATH | O.DIRECTORY, resolve: RESOLVE.IN_ROOT | RESOLVE.NO_MAGICLINKS }
const STRICT = RESOLVE.BENEATH | RESOLVE.NO_SYMLINKS | RESOLVE.NO_XDEV
const BELOW = RESOLVE.BENEATH | RESOLVE.NO_SYMLINKS
