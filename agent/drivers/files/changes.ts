import type { ServiceError } from '../../../shared/errors.ts'
import { refusal } from '../../../shared/refusals.ts'
import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { changeMode } from '../../lib/syscalls/directories.ts'
import { RENAME, rawBytesOf, renameBetween } from '../../lib/syscalls/files.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import { DISK, diskOf, statFd } from '../../lib/syscalls/stat.ts'
import type { Steps, TaskIo } from '../../lib/threads/task.ts'
import type { FileFacts, WrittenFile } from '../../ports/files/files.ts'
import { syncChanges } from './durability.ts'
import { kindOf } from './facts.ts'
import { withFaults } from './faults.ts'
import { pathInvalid, type RawPath, type SplitPath, showPath, splitPath } from './paths.ts'
import { inView, type PathArgument } from './reading.ts'
import {
  checkWritableMount,
  openDirectoryPath,
  openName,
  readFacts,
  reopenDirectories,
  reopenDirectory,
  withFd,
} from './resolve.ts'
import { makeDirectories, openParent } from './targets.ts'
import { asBoxRoot, type FileView } from './views.ts'

export interface MakeDirectoryArgument extends PathArgument {
  mode: number | null
  parents: boolean
}

/** Creates a directory. Syncs an existing one, since it may not be durable yet. */
export function* makeDirectoryTask(_: TaskIo, argument: MakeDirectoryArgument): Steps<WrittenFile> {
  return inView(argument, (view) => {
    const present = findDirectory(view, argument.path)
    return present === null ? makeNew(view, argument) : { facts: present, isNew: false }
  })
}

function findDirectory(view: FileView, path: RawPath): FileFacts | null {
  try {
    return withFd(openDirectoryPath(view, path), (fd) => {
      syncPresent(view, fd, path)
      return readFacts(view, fd)
    })
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null
    throw error
  }
}

// Syncing a directory makes btrfs commit its parents, but not the name of a link that led to it.
function syncPresent(view: FileView, fd: number, path: RawPath): void {
  if (diskOf(fd).magic !== DISK.BTRFS) return
  syncChanges([reopenDirectory(fd)])
  const split = splitPath(path)
  if (split === null) return
  withFd(openDirectoryPath(view, split.parent), (parentFd) => {
    if (diskOf(parentFd).magic === DISK.BTRFS) syncChanges([reopenDirectory(parentFd)])
  })
}

function makeNew(view: FileView, argument: MakeDirectoryArgument): WrittenFile {
  const { path, mode, parents } = argument
  const { parent, name } = splitName(path)
  const { fd: parentFd, missing } = openParent(view, parent, parents)
  return withFd(parentFd, () => {
    checkWritableMount(parentFd, path)
    const made = makeDirectories(view, { parentFd, names: [...missing, name], mode: mode ?? 0o755 })
    try {
      // Sets the requested mode again, which a set-gid parent may have changed.
      if (mode !== null && made.isNew) withFd(reopenDirectory(made.fd), (fd) => changeMode(fd, mode))
      syncChanges(reopenDirectories([made.fd, parentFd]))
      return { facts: readFacts(view, made.fd), isNew: made.isNew }
    } finally {
      made.close()
    }
  })
}

export interface MoveArgument extends PathArgument {
  to: RawPath
  overwrite: boolean
}

/** Renames a file or directory within a disk. */
export function* moveTask(_: TaskIo, argument: MoveArgument): Steps<FileFacts> {
  return inView(argument, (view) => move(view, argument))
}

function move(view: FileView, { path, to, overwrite }: MoveArgument): FileFacts {
  const [from, into] = [splitName(path), splitName(to)]
  const fds: number[] = []
  const track = (fd: number): number => {
    fds.push(fd)
    return fd
  }
  try {
    const fromFd = track(openDirectoryPath(view, from.parent))
    checkWritableMount(fromFd, path)
    const movedFd = track(openName(fromFd, from.name))
    checkNoMount(path, { parentFd: fromFd, fd: movedFd })
    const isNoDirectory = kindOf(statFd(movedFd)) !== 'directory'
    if (isNoDirectory && (from.isDirectory || into.isDirectory)) throw notADirectory(from.isDirectory ? path : to)
    const toFd = track(withFaults(to, () => openDirectoryPath(view, into.parent)))
    checkWritableMount(toFd, to)
    if (overwrite) checkNothingMounted(toFd, into.name, to)
    withFaults(to, () => rename(view, { fromFd, from, toFd, into, overwrite }))
    syncChanges(reopenDirectories([toFd, fromFd]))
    return readFacts(view, movedFd)
  } finally {
    fds.forEach(closeFd)
  }
}

interface Rename {
  fromFd: number
  from: SplitPath
  toFd: number
  into: SplitPath
  overwrite: boolean
}

function rename(view: FileView, { fromFd, from, toFd, into, overwrite }: Rename): void {
  const flags = overwrite ? 0 : RENAME.NOREPLACE
  try {
    asBoxRoot(view, () =>
      renameBetween({ fromFd, fromName: rawBytesOf(from.name), toFd, toName: rawBytesOf(into.name), flags }),
    )
  } catch (error) {
    if (!isErrno(error, 'EINVAL')) throw error
    throw pathInvalid(`${into.parent}/${into.name}`, 'a directory cannot be moved into itself', error)
  }
}

/** As `splitPath`. Throws `path_invalid` for the root, and for a path that ends with `.` or `..`. */
export function splitName(path: RawPath): SplitPath {
  const split = splitPath(path)
  if (split === null) throw pathInvalid(path, 'it is the root, or ends with `.` or `..`')
  return split
}

/** Throws `path_invalid` if `fd` is a mount in the directory `parentFd`. */
export function checkNoMount(path: RawPath, { parentFd, fd }: { parentFd: number; fd: number }): void {
  if (statFd(fd).mountId !== statFd(parentFd).mountId)
    throw pathInvalid(path, 'a volume, or a file of the system, is mounted there')
}

// The kernel refuses a rename onto a mount point only in its own mount namespace. From here the rename would detach the box's mount.
function checkNothingMounted(directoryFd: number, name: RawPath, path: RawPath): void {
  try {
    withFd(openName(directoryFd, name), (fd) => checkNoMount(path, { parentFd: directoryFd, fd }))
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
  }
}

export function notADirectory(path: RawPath): ServiceError {
  return refusal('not_a_directory', [`${showPath(path)}: it is not a directory.`, 'Name a directory.'])
}
