import fs from 'node:fs'
import type { ServiceError } from '../../../shared/errors.ts'
import { refusal } from '../../../shared/refusals.ts'
import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { readEntries, removeFile } from '../../lib/syscalls/directories.ts'
import { O, openBelow, RESOLVE, rawBytesOf, removeAt } from '../../lib/syscalls/files.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import { AT } from '../../lib/syscalls/mounts.ts'
import { statFd } from '../../lib/syscalls/stat.ts'
import type { Steps, TaskIo } from '../../lib/threads/task.ts'
import { checkNoMount, notADirectory, splitName } from './changes.ts'
import type { Turns } from './copying.ts'
import { syncChanges } from './durability.ts'
import { kindOf } from './facts.ts'
import { explainFault } from './faults.ts'
import { pathInvalid, type RawPath, showPath } from './paths.ts'
import type { PathArgument } from './reading.ts'
import { checkWritableMount, openDirectoryPath, openName, reopenDirectory, withFd } from './resolve.ts'
import { type FileView, openView } from './views.ts'

export interface RemoveArgument extends PathArgument {
  recursive: boolean
}

/** Removes a file, an empty directory, or a tree. */
export function* removeTask(io: TaskIo, argument: RemoveArgument): Steps<void> {
  const { path } = argument
  const view = openView(argument.root)
  let parentFd: number | undefined
  try {
    const { parent, name, isDirectory } = splitName(path)
    parentFd = openDirectoryPath(view, parent)
    checkWritableMount(parentFd, path)
    const kind = checkRemovable(view, parentFd, { path, name })
    if (isDirectory && kind !== 'directory') throw notADirectory(path)
    if (kind !== 'directory') removeAt(parentFd, rawBytesOf(name))
    else if (!tryRemoveDirectory(parentFd, name)) {
      if (!argument.recursive)
        throw refusal('directory_not_empty', [
          `${showPath(path)}: it is not empty.`,
          'Remove what is in it first, or ask for `recursive`.',
        ])
      yield* removeTree(io, path, { parentFd, name })
    }
    syncChanges([reopenDirectory(parentFd)])
  } catch (error) {
    throw explainFault(path, error)
  } finally {
    if (parentFd !== undefined) closeFd(parentFd)
    view.close()
  }
}

/** Throws `path_invalid` if something is mounted there or below. Returns its kind. */
function checkRemovable(
  view: FileView,
  parentFd: number,
  { path, name }: { path: RawPath; name: RawPath },
): ReturnType<typeof kindOf> {
  return withFd(openName(parentFd, name), (fd) => {
    checkNoMount(path, { parentFd, fd })
    const kind = kindOf(statFd(fd))
    if (kind === 'directory') checkNoMountsBelow(view, fd, path)
    return kind
  })
}

/**
 * Throws `path_invalid` if something is mounted below a directory. A later mount keeps its files, because the kernel refuses to remove a
 * mount point. The rest of the tree may then be gone.
 */
export function checkNoMountsBelow(view: FileView, fd: number, path: RawPath): void {
  const { mountId } = statFd(fd)
  const mounts = view.mounts().filter(({ parentId }) => parentId === mountId)
  if (mounts.length === 0) return
  const mountPath = readMountPath(fd)
  const inside = mounts.find(({ rawPath }) => rawPath.startsWith(`${mountPath}/`))
  if (inside !== undefined) throw pathInvalid(path, 'a volume, or a file of the system, is mounted in it')
}

/** Reads the path of a directory in the form of the mount table. */
function readMountPath(fd: number): RawPath {
  return fs.readlinkSync(`/proc/self/fd/${fd}`, 'latin1')
}

/** Returns false if the directory is not empty. */
function tryRemoveDirectory(parentFd: number, name: RawPath): boolean {
  try {
    removeAt(parentFd, rawBytesOf(name), AT.REMOVEDIR)
    return true
  } catch (error) {
    if (isErrno(error, 'ENOTEMPTY', 'EEXIST')) return false
    throw error
  }
}

/** A directory of the current path in the tree. */
interface Level {
  name: RawPath
  inode: number
  device: number
  /** Subdirectories to enter. */
  directories: RawPath[]
}

/**
 * Removes a directory tree with one open descriptor at any depth. Goes up by `..`, and only if that is the directory it came from. Follows
 * no link and enters no mount. Throws `box_busy` after 5 min, beyond 100,000 levels, or if a process moves directories.
 */
export function* removeTree(
  io: Turns,
  path: RawPath,
  { parentFd, name }: { parentFd: number; name: RawPath },
): Steps<void> {
  const deadline = performance.now() + TIME_MAX_MS
  const buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES)
  const levels: Level[] = []
  let fd = -1
  const enter = (from: number, child: RawPath): boolean => {
    const childFd = tryOpenDirectory(from, child)
    if (childFd === null) return false
    if (fd >= 0) closeFd(fd)
    fd = childFd
    levels.push(levelOf(fd, child))
    return true
  }
  try {
    enter(parentFd, name)
    for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
      if (performance.now() > deadline || levels.length > LEVELS_MAX) throw removalTimeout(path)
      if (level.directories.length === 0)
        yield* removeFiles(io, fd, { buffer, level, count: levels.length > DEEP ? 4 : 512 })
      const child = level.directories.pop()
      if (child !== undefined) {
        enter(fd, child)
        continue
      }
      levels.pop()
      const above = levels.at(-1)
      const aboveFd = above === undefined ? parentFd : openAbove(path, fd, above)
      closeFd(fd)
      fd = above === undefined ? -1 : aboveFd
      // The box created something in it in the meantime. Below the top, reading the parent again finds it.
      if (!removeEmptied(aboveFd, level.name) && above === undefined) enter(parentFd, name)
    }
  } finally {
    if (fd >= 0) closeFd(fd)
  }
}

/** Removes the files of a directory, and collects up to `count` subdirectories. */
function* removeFiles(
  io: Turns,
  fd: number,
  { buffer, level, count }: { buffer: Buffer; level: Level; count: number },
): Steps<void> {
  const found: RawPath[] = []
  while (found.length < count) {
    if (io.mustPause()) yield 'turn'
    const entries = readEntries(fd, buffer)
    if (entries === null) break
    for (const entry of entries) if (!removeFile(fd, entry) && found.length < count) found.push(entry.name)
  }
  level.directories = found
}

/** As `tryRemoveDirectory`, but also returns true if it is gone or not a directory any more. */
function removeEmptied(parentFd: number, name: RawPath): boolean {
  try {
    return tryRemoveDirectory(parentFd, name)
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return true
    throw error
  }
}

/** Returns null if it is gone or not a directory any more. */
function tryOpenDirectory(parentFd: number, name: RawPath): number | null {
  try {
    return openBelow(parentFd, rawBytesOf(name), WITHIN)
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return null
    throw error
  }
}

function openAbove(path: RawPath, fd: number, above: Level): number {
  const aboveFd = openBelow(fd, '..', { flags: O.RDONLY | O.DIRECTORY })
  const { inode, device } = statFd(aboveFd)
  if (inode === above.inode && device === above.device) return aboveFd
  closeFd(aboveFd)
  throw refusal('box_busy', [
    `${showPath(path)}: directories in it are moved while it is removed.`,
    'Stop what moves them, and try again.',
  ])
}

function levelOf(fd: number, name: RawPath): Level {
  const { inode, device } = statFd(fd)
  return { name, inode, device, directories: [] }
}

function removalTimeout(path: RawPath): ServiceError {
  return refusal('box_busy', [
    `${showPath(path)}: it is filled faster than it is removed, or deeper than can be.`,
    'Stop what fills it, or remove the directories in it first.',
  ])
}

const WITHIN = {
  flags: O.RDONLY | O.DIRECTORY | O.NOFOLLOW,
  resolve: RESOLVE.BENEATH | RESOLVE.NO_SYMLINKS | RESOLVE.NO_XDEV,
}
const BUFFER_BYTES = 32 * 1024
const DEEP = 64
// Each keeps its name and a few subdirectories.
const LEVELS_MAX = 100_000
const TIME_MAX_MS = 300_000
