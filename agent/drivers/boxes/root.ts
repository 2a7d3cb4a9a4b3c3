import { closeSync, constants, fstatSync, mkdirSync, openSync, rmdirSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ServiceError } from '../../../shared/errors.ts'
import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { readNames } from '../../lib/syscalls/directories.ts'
import { makeDirectoryAt, O, openBelow, RESOLVE, removeAt } from '../../lib/syscalls/files.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import {
  AT,
  attachMountAt,
  cloneMount,
  MOUNT_ATTR,
  setMountAttributes,
  unmountIfMounted,
} from '../../lib/syscalls/mounts.ts'
import { MOUNT_DIRECTORIES } from '../host/oci-spec.ts'

/**
 * Ensures that the root has real directories to mount on, replacing what its owner put there, and returns those of `files`
 * (names below /etc) for which it has, or now has, a regular file. Touches nothing outside `rootPath`. Throws `storage_full`
 * where a directory is missing and there is no space for it.
 */
export function prepareMountPoints(rootPath: string, files: readonly string[]): string[] {
  const rootFd = openBelow(AT.FDCWD, rootPath, { flags: O.PATH | O.DIRECTORY })
  try {
    for (const name of MOUNT_DIRECTORIES) ensureDirectory(rootFd, name)
    return files.filter((name) => hasMountFile(rootFd, name))
  } finally {
    closeFd(rootFd)
  }
}

/**
 * Removes the files of /run, as every boot has to (FHS 3.0, 3.15), and keeps its directories: a package makes its own when it is installed, and
 * its programs do not start without them. Looks at 10,000 entries down to 16 levels, and leaves what the disk has no space to remove.
 */
export async function clearRun(rootPath: string): Promise<void> {
  const rootFd = openBelow(AT.FDCWD, rootPath, { flags: O.PATH | O.DIRECTORY })
  try {
    if (kindAt(rootFd, 'run') === null) makeDirectoryAt(rootFd, 'run', 0o755)
    await clearDirectory(rootFd, { path: 'run\0', levels: RUN_LEVELS }, { left: RUN_ENTRIES, turnEndsAt: turnEnd() })
  } catch (error) {
    if (!isErrno(error, 'EEXIST', ...ABSENT, ...FULL)) throw error
  } finally {
    closeFd(rootFd)
  }
}

/** What all directories of one /run have together: entries to look at, and the end of this turn in ms of `performance.now`. */
interface Clearing {
  left: number
  turnEndsAt: number
}

async function clearDirectory(
  parentFd: number,
  { path, levels }: { path: string; levels: number },
  clearing: Clearing,
): Promise<void> {
  const fd = openBelow(parentFd, Buffer.from(path, 'latin1'), { flags: O.RDONLY | O.DIRECTORY, resolve: STRICT })
  try {
    const directories: string[] = []
    for (const name of namesIn(fd, clearing)) {
      if (performance.now() > clearing.turnEndsAt) {
        await nextTurn()
        clearing.turnEndsAt = turnEnd()
      }
      if (!removeFileAt(fd, name)) directories.push(name)
    }
    if (levels > 1)
      for (const name of directories) await clearDirectory(fd, { path: name, levels: levels - 1 }, clearing)
  } finally {
    closeFd(fd)
  }
}

/** Names that end with a zero, one character per byte; no more than there are left to look at. */
function* namesIn(fd: number, clearing: Clearing): Generator<string> {
  const buffer = Buffer.allocUnsafe(ENTRIES_BYTES)
  for (let names = readNames(fd, buffer); names !== null; names = readNames(fd, buffer))
    for (const name of names) {
      if (clearing.left-- <= 0) return
      yield `${name}\0`
    }
}

/** Returns false for a directory. */
function removeFileAt(fd: number, name: string): boolean {
  try {
    removeAt(fd, Buffer.from(name, 'latin1'))
    return true
  } catch (error) {
    if (isErrno(error, 'EISDIR')) return false
    throw error
  }
}

const turnEnd = (): number => performance.now() + TURN_MS

/**
 * Mounts the root tree at `stage`, idmapped by the user namespace, so that ids on disk stay 0–65535. Setuid programs work on it:
 * they get ids of the box's user namespace alone, and no other process of the host sees the mount.
 */
export function stageRoot(rootPath: string, stage: string, userNamespace: string): void {
  mkdirSync(stage, { mode: 0o711 })
  const mountFd = cloneMount(AT.FDCWD, rootPath)
  try {
    const userNamespaceFd = openSync(userNamespace, 'r')
    try {
      setMountAttributes(mountFd, { set: MOUNT_ATTR.NODEV, clear: MOUNT_ATTR.NOSUID, userNamespaceFd })
    } finally {
      closeSync(userNamespaceFd)
    }
    attachMountAt(mountFd, stage)
  } finally {
    closeFd(mountFd)
  }
}

/** Undoes `stageRoot`; succeeds if there is nothing. */
export function unstageRoot(stage: string): void {
  unmountIfMounted(stage)
  try {
    rmdirSync(stage)
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
  }
}

function ensureDirectory(rootFd: number, name: string): void {
  const kind = kindAt(rootFd, name)
  if (kind === 'directory') return
  try {
    if (kind !== null) removeAt(rootFd, name)
    makeDirectoryAt(rootFd, name, 0o755)
  } catch (error) {
    if (!isErrno(error, ...FULL)) throw error
    throw new ServiceError('storage_full', 'The box has no space left for the directories it needs to start.', {
      cause: error,
    })
  }
}

/** Returns false if the owner has put a directory there, or has no space left: the box then starts without that file. */
function hasMountFile(rootFd: number, name: string): boolean {
  const path = `etc/${name}`
  const kind = kindAt(rootFd, path)
  if (kind === 'file') return true
  if (kind === 'directory') return false
  let etcFd: number | undefined
  try {
    etcFd = openBelow(rootFd, 'etc', { flags: O.RDONLY | O.DIRECTORY, resolve: STRICT })
    if (kind !== null) removeAt(etcFd, name)
    closeFd(openBelow(etcFd, name, { flags: O.WRONLY | O.CREAT | O.EXCL, mode: 0o644, resolve: STRICT }))
    return true
  } catch (error) {
    if (isErrno(error, ...ABSENT, ...FULL)) return false
    throw error
  } finally {
    if (etcFd !== undefined) closeFd(etcFd)
  }
}

function kindAt(rootFd: number, path: string): 'directory' | 'file' | 'other' | null {
  try {
    const fd = openBelow(rootFd, path, { flags: O.PATH | O.NOFOLLOW, resolve: RESOLVE.BENEATH | RESOLVE.NO_MAGICLINKS })
    try {
      const type = fstatSync(fd).mode & constants.S_IFMT
      return type === constants.S_IFDIR ? 'directory' : type === constants.S_IFREG ? 'file' : 'other'
    } finally {
      closeFd(fd)
    }
  } catch (error) {
    if (isErrno(error, ...ABSENT)) return null
    throw error
  }
}

const RUN_LEVELS = 16
const RUN_ENTRIES = 10_000
/** Other boxes wait no longer than this for the loop. */
const TURN_MS = 1
const ENTRIES_BYTES = 4 * 1024
const STRICT = RESOLVE.BENEATH | RESOLVE.NO_SYMLINKS | RESOLVE.NO_XDEV
const FULL = ['ENOSPC', 'EDQUOT']
// Errors that the owner can cause with a path: also a link that leads out (EXDEV), or nowhere.
const ABSENT = ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG', 'EXDEV', 'EAGAIN']
