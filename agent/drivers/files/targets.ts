import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { makeDirectoryAt, O, openBelow, RESOLVE, rawBytesOf, removeAt } from '../../lib/syscalls/files.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import { AT } from '../../lib/syscalls/mounts.ts'
import { type FileStat, readLinkFd, statFd } from '../../lib/syscalls/stat.ts'
import { kindOf } from './facts.ts'
import { isADirectory, pathInvalid, type RawPath, splitPath } from './paths.ts'
import { checkWritableMount, openDirectoryPath, openName, withFd } from './resolve.ts'
import { asBoxRoot, type FileView } from './views.ts'

/** The file to create or replace. */
export interface FileTarget {
  /**
   * Its directory, or the nearest that exists, open with `O_PATH`. Later calls use only names in it, so that no rename by the box leads a
   * write out of the box.
   */
  parentFd: number
  /** The missing directories below it. */
  missing: readonly RawPath[]
  name: RawPath
  /** The present file, or null if there is none. */
  present: PresentFile | null
}

export interface PresentFile {
  /** Open with `O_PATH`. */
  fd: number
  stat: FileStat
}

/** Runs `work` on the target of a path. Follows links at its end too, each resolved by the kernel like any path. */
export function withTarget<T>(
  view: FileView,
  { path, parents }: { path: RawPath; parents: boolean },
  work: (target: FileTarget) => T,
): T {
  let raw = path
  for (let hops = 0; hops < LINKS_MAX; hops++) {
    const split = splitPath(raw)
    if (split === null || split.isDirectory) throw isADirectory(path)
    const { fd, missing } = openParent(view, split.parent, parents)
    try {
      checkWritableMount(fd, path)
      const present = missing.length > 0 ? null : openPresent(fd, split.name)
      const link = present === null ? null : readLink(present)
      if (link === null) return workWith(present, () => work({ parentFd: fd, missing, name: split.name, present }))
      raw = link.startsWith('/') ? link : `${split.parent}/${link}`
    } finally {
      closeFd(fd)
    }
  }
  throw pathInvalid(path, 'it leads through a circle of links, or too many')
}

/** Opens a directory, or with `parents` the nearest one that exists, and returns the missing names. */
export function openParent(
  view: FileView,
  raw: RawPath,
  parents: boolean,
): { fd: number; missing: readonly RawPath[] } {
  const names = raw.split('/').filter((name) => name !== '' && name !== '.')
  const leastDepth = parents ? Math.max(0, names.length - MISSING_MAX) : names.length
  for (let depth = names.length; ; depth--) {
    try {
      const fd = openDirectoryPath(view, depth === names.length ? raw : `/${names.slice(0, depth).join('/')}`)
      return { fd, missing: names.slice(depth) }
    } catch (error) {
      // Skips only a missing name upwards, and never `..`.
      if (!isErrno(error, 'ENOENT') || depth <= leastDepth || names[depth - 1] === '..') throw error
    }
  }
}

/** Nested directories that were created or existed. At least one is open. */
export interface MadeDirectories {
  /** The innermost one, open with `O_PATH`. */
  fd: number
  /** False if the innermost one existed by the time it was created. */
  isNew: boolean
  /** Removes the created directories that are empty. */
  undo(): void
  close(): void
}

/** Creates directories (0755), at least one, each in the one before. `mode` is the mode of the last. */
export function makeDirectories(
  view: FileView,
  { parentFd, names, mode = 0o755 }: { parentFd: number; names: readonly RawPath[]; mode?: number },
): MadeDirectories {
  const fds: number[] = []
  const made: { fd: number; name: RawPath }[] = []
  const result = {
    fd: parentFd,
    isNew: false,
    undo: () => {
      for (const { fd, name } of made.toReversed()) removeEmpty(fd, name)
    },
    close: () => fds.splice(0).forEach(closeFd),
  }
  try {
    for (const [index, name] of names.entries()) {
      result.isNew = makeDirectory(view, result.fd, { name, mode: index === names.length - 1 ? mode : 0o755 })
      if (result.isNew) made.push({ fd: result.fd, name })
      result.fd = openBelow(result.fd, rawBytesOf(name), STRICT_DIRECTORY)
      fds.push(result.fd)
    }
    return result
  } catch (error) {
    result.undo()
    result.close()
    throw error
  }
}

function makeDirectory(view: FileView, parentFd: number, { name, mode }: { name: RawPath; mode: number }): boolean {
  try {
    asBoxRoot(view, () => makeDirectoryAt(parentFd, rawBytesOf(name), mode))
    return true
  } catch (error) {
    // A dangling link has the name as well. Opening it next fails.
    if (isErrno(error, 'EEXIST')) return false
    throw error
  }
}

function removeEmpty(parentFd: number, name: RawPath): void {
  try {
    removeAt(parentFd, rawBytesOf(name), AT.REMOVEDIR)
  } catch (error) {
    if (!isErrno(error, 'ENOENT', 'ENOTEMPTY', 'ENOTDIR', 'EBUSY')) throw error
  }
}

/** Opens a name in a directory, or returns null if it is missing. */
function openPresent(directoryFd: number, name: RawPath): PresentFile | null {
  try {
    const fd = openName(directoryFd, name)
    return { fd, stat: statFd(fd) }
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null
    throw error
  }
}

/** Returns the text of a link, and closes it. Returns null for any other file. */
function readLink({ fd, stat }: PresentFile): RawPath | null {
  if (kindOf(stat) !== 'symlink') return null
  return withFd(fd, () => Buffer.from(readLinkFd(fd)).toString('latin1'))
}

function workWith<T>(present: PresentFile | null, work: () => T): T {
  return present === null ? work() : withFd(present.fd, work)
}

// As in the kernel.
const LINKS_MAX = 40
const MISSING_MAX = 100
const STRICT_DIRECTORY = {
  flags: O.PATH | O.DIRECTORY | O.NOFOLLOW,
  resolve: RESOLVE.BENEATH | RESOLVE.NO_SYMLINKS | RESOLVE.NO_XDEV,
}
