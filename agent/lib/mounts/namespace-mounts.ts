import { CLONE, closeFd, enterNamespace } from '../syscalls/descriptors.ts'
import { makeDirectoryAt, O, openBelow, RESOLVE, rawBytesOf, readFileMount } from '../syscalls/files.ts'
import { isErrno } from '../syscalls/libc.ts'
import { AT, attachMountTo, cloneMount, pivotRoot, UMOUNT, unmount } from '../syscalls/mounts.ts'
import { enterDirectory, setFileOwner } from '../syscalls/threads.ts'
import { type Cover, coverAll } from './covers.ts'

/** A task in the mount namespace behind `namespaceFd`. */
export type NamespaceTask = AttachTask | LocateTask | UnmountTask | RootTask | CloneTask | CoverTask

/** Attaches a detached mount at `path`, after creating missing directories (0755). */
export interface AttachTask {
  act: 'attach'
  namespaceFd: number
  /** Detached mount from `cloneMount`. */
  treeFd: number
  /** Absolute path. Symlinks are resolved within the namespace's root. */
  path: string
  /** User and group, as host ids, that own the directories created. */
  owner: number
  /** Ids of the mounts in the namespace on which the directory may lie. */
  mountIds: readonly number[]
}

/** Finds the mount whose mount point is exactly `path`. */
export interface LocateTask {
  act: 'locate'
  namespaceFd: number
  path: string
}

/** Unmounts the mount `mountId` if it is still at `path`, which holds the bytes of `mountinfo`, one character each. */
export interface UnmountTask {
  act: 'unmount'
  namespaceFd: number
  path: string
  mountId: number
}

/** Clones the mount at `path` as a detached mount. */
export interface CloneTask {
  act: 'clone'
  namespaceFd: number
  path: string
}

/**
 * Outcome of a task: `taken`, another mount is there. `foreign`, the directory is on none of the given mounts. `moved`, the mount
 * is elsewhere or gone. `busy`, it is in use. Only `attached` and `unmounted` mean that a mount changed.
 */
export type NamespaceOutcome =
  | { end: 'attached' | 'foreign' | 'nothing' | 'unmounted' | 'moved' | 'busy' }
  | { end: 'taken'; mountId: number }
  | { end: 'cloned'; fd: number }

/**
 * Runs `task` and returns to the namespace `homeFd`. Synchronous, since nothing else of this thread may run until it is back. The thread
 * must have unshared its root and bound its libc functions. Throws the SyscallError of the failed call with the thread back home. If it
 * cannot return, calls `onLost`, which must end the thread.
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
  if (task.act === 'clone') return { end: 'cloned', fd: cloneMount(rootFd, task.path.slice(1)) }
  if (task.act === 'cover') return { end: coverAll(rootFd, task.covers) }
  return unmountAt(rootFd, task)
}

/** Attaches a mount below `rootFd`, with this thread already in its namespace. Throws the SyscallError of the failed call. */
export function attach(rootFd: number, task: Omit<AttachTask, 'act' | 'namespaceFd'>): NamespaceOutcome {
  const targetFd = openTarget(rootFd, task)
  if (targetFd === null) return { end: 'foreign' }
  try {
    const { mountId, isMountRoot } = readFileMount(targetFd)
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
    const { mountId, isMountRoot } = readFileMount(fd)
    return isMountRoot ? { end: 'taken', mountId } : { end: 'nothing' }
  } finally {
    closeFd(fd)
  }
}

// Unmounts by the name in its open parent directory. A mount point cannot be renamed, and renames above do not matter. An open descriptor
// would keep the mount busy, so this function opens none.
function unmountAt(rootFd: number, { path, mountId }: UnmountTask): NamespaceOutcome {
  const cut = path.lastIndexOf('/')
  const name = rawBytesOf(path.slice(cut + 1))
  const parentFd = tryOpen(rootFd, rawBytesOf(path.slice(0, cut) || '/'))
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
    const mount = readFileMount(fd)
    return mount.isMountRoot && mount.mountId === mountId
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
      if (!task.mountIds.includes(readFileMount(parentFd).mountId)) return null
      makeDirectory(parentFd, name, task.owner)
      fd = openBelow(parentFd, name, { flags: O.PATH | O.DIRECTORY | O.NOFOLLOW, resolve: STRICT })
    } finally {
      closeFd(parentFd)
    }
  }
  return fd
}

// Returns null if a component is missing. The root itself must exist.
function tryOpenPrefix(rootFd: number, names: readonly string[]): number | null {
  try {
    return openBelow(rootFd, `/${names.join('/')}`, DIRECTORY)
  } catch (error) {
    if (isErrno(error, 'ENOENT') && names.length > 0) return null
    throw error
  }
}

// Ignores EEXIST: the entry was created just now, or is a dangling symlink, which the next open refuses.
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

/** Mounts over files and directories of the namespace, in order, and takes away such mounts. */
interface CoverTask {
  act: 'cover'
  namespaceFd: number
  covers: readonly Cover[]
}

/** Replaces the root of the mount namespace behind `namespaceFd`. */
interface RootTask {
  act: 'root'
  namespaceFd: number
  /** New root: a detached mount from `cloneMount`. */
  treeFd: number
  /** Top-level directories of both roots whose mounts, with all mounts below, are moved to the new root. */
  directories: readonly string[]
  /** Detached file mounts and their paths below the new root. */
  files: readonly { path: string; fd: number }[]
}

/**
 * Replaces the root of all processes in a mount namespace by `treeFd`, and unmounts the old one. Every mount point in the new root must
 * exist and must not be a symlink. If it throws a SyscallError, the namespace is half changed, and nothing must run in it.
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
  const targetFd = openBelow(treeFd, path, { flags: O.PATH | O.NOFOLLOW, resolve: BELOW | RESOLVE.NO_XDEV })
  try {
    attachMountTo(mountFd, targetFd)
  } finally {
    closeFd(targetFd)
  }
}

/** Errors that the owner of a namespace can cause at a path: absent, a file, a symlink loop, an escape, endless renames. */
export const PATH_FAULTS = ['ENOENT', 'ENOTDIR', 'ELOOP', 'EXDEV', 'EAGAIN', 'EACCES', 'ENAMETOOLONG'] as const

const DIRECTORY = { flags: O.PATH | O.DIRECTORY, resolve: RESOLVE.IN_ROOT | RESOLVE.NO_MAGICLINKS }
const STRICT = RESOLVE.BENEATH | RESOLVE.NO_SYMLINKS | RESOLVE.NO_XDEV
const BELOW = RESOLVE.BENEATH | RESOLVE.NO_SYMLINKS
