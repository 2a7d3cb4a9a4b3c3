import { closeSync, constants, fstatSync, mkdirSync, openSync, rmdirSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { refusal } from '../../../shared/refusals.ts'
import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { type RawEntry, readEntries, removeFile } from '../../lib/syscalls/directories.ts'
import { makeDirectoryAt, O, openBelow, RESOLVE, rawBytesOf, removeAt } from '../../lib/syscalls/files.ts'
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
 * Ensures that the root has real directories to mount on, and replaces anything else that its owner put there. Returns the names of `files`
 * (names below /etc) for which it has, or now has, a regular file. Touches nothing outside `rootPath`. Throws `storage_full` where a
 * directory is missing and there is no space for it.
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
 * Removes the files of /run, which every boot must do (FHS 3.0, 3.15), and keeps the directories of packages. A package makes its own directory
 * when it is installed, and its programs do not start without it. Below those, removes directories that had files. They are state of programs,
 * such as /run/crun/<container>, by which an engine takes a container of the last run for a present one. Looks at 10,000 entries down to 16
 * levels. Leaves files that the disk has no space to remove.
 */
export async function clearRun(rootPath: string): Promise<void> {
  const rootFd = openBelow(AT.FDCWD, rootPath, { flags: O.PATH | O.DIRECTORY })
  try {
    if (kindAt(rootFd, 'run') === null) makeDirectoryAt(rootFd, 'run', 0o755)
    await clearDirectory(rootFd, ['run'], { left: RUN_ENTRIES, turnEndsAt: turnEnd() })
  } catch (error) {
    if (!isErrno(error, 'EEXIST', ...ABSENT, ...FULL)) throw error
  } finally {
    closeFd(rootFd)
  }
}

/** Shared by all directories of one /run. */
interface Clearing {
  /** Number of entries that it can still look at. */
  left: number
  /** When the next pause is due, in ms of `performance.now`. */
  turnEndsAt: number
}

/** Clears the last directory of a path. Resolves to true if it had files, itself or below. */
async function clearDirectory(parentFd: number, path: readonly string[], clearing: Clearing): Promise<boolean> {
  const fd = openBelow(parentFd, rawBytesOf(path.at(-1) ?? ''), { flags: O.RDONLY | O.DIRECTORY, resolve: STRICT })
  try {
    const directories: string[] = []
    let hadFiles = false
    for (const entry of entriesIn(fd, clearing)) {
      if (performance.now() > clearing.turnEndsAt) {
        await nextTurn()
        clearing.turnEndsAt = turnEnd()
      }
      if (removeFile(fd, entry)) hadFiles = true
      else directories.push(entry.name)
    }
    if (path.length === RUN_LEVELS) return hadFiles
    for (const name of directories) {
      const below = [...path, name]
      if (!(await clearDirectory(fd, below, clearing))) continue
      hadFiles = true
      if (!isKept(below)) removeDirectories(fd, name, clearing)
    }
    return hadFiles
  } finally {
    closeFd(fd)
  }
}

/** Returns true for a directory of a package, a user or a lock: /run/<package>, /run/user/<id>, /run/lock/<package>. */
function isKept([, first, ...rest]: readonly string[]): boolean {
  return rest.length === 0 || (rest.length === 1 && (first === 'user' || first === 'lock'))
}

/** Removes a directory that has only directories. Leaves it if it has anything else. */
function removeDirectories(parentFd: number, name: string, clearing: Clearing): void {
  try {
    const fd = openBelow(parentFd, rawBytesOf(name), { flags: O.RDONLY | O.DIRECTORY, resolve: STRICT })
    try {
      for (const entry of [...entriesIn(fd, clearing)]) removeDirectories(fd, entry.name, clearing)
    } finally {
      closeFd(fd)
    }
    removeAt(parentFd, rawBytesOf(name), AT.REMOVEDIR)
  } catch (error) {
    if (!isErrno(error, 'ENOTEMPTY', 'EBUSY', ...ABSENT, ...FULL)) throw error
  }
}

/** Yields the entries of a directory, up to the number left to look at. */
function* entriesIn(fd: number, clearing: Clearing): Generator<RawEntry> {
  const buffer = Buffer.allocUnsafe(ENTRIES_BYTES)
  for (let entries = readEntries(fd, buffer); entries !== null; entries = readEntries(fd, buffer))
    for (const entry of entries) {
      if (clearing.left-- <= 0) return
      yield entry
    }
}

const turnEnd = (): number => performance.now() + TURN_MS

/**
 * Mounts the root tree at `stage`, idmapped by the user namespace, so that ids on disk stay 0–65535. Setuid programs work on it. They only
 * get ids of the box's user namespace, and no other process of the host sees the mount.
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

/** Undoes `stageRoot`. Succeeds if there is nothing. */
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
    throw refusal(
      'storage_full',
      [
        'The box has no space left for the directories it needs to start.',
        'Delete files in the box, or raise its `storage_gb`.',
      ],
      {
        cause: error,
      },
    )
  }
}

/** Returns false if the owner has put a directory there, or has no space left. The box then starts without that file. */
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
// Errors that the owner can cause with a path, including a link that leads out (EXDEV), or nowhere.
const ABSENT = ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG', 'EXDEV', 'EAGAIN']
