import { closeFd } from '../../../lib/syscalls/descriptors.ts'
import { makeDirectoryAt, O, openBelow, RESOLVE, rawBytesOf } from '../../../lib/syscalls/files.ts'
import { isErrno } from '../../../lib/syscalls/libc.ts'
import { statFd } from '../../../lib/syscalls/stat.ts'
import { type RawPath } from '../paths.ts'
import { checkWritableMount, reopenDirectory } from '../resolve.ts'

/** A directory to create entries in, open with `O_PATH`. */
export interface OpenDirectory {
  fd: number
  mountId: number
}

/**
 * Opens the directories of an archive below its destination. Opens each by name in its parent, never through a link, and creates it (0755)
 * if missing and requested. Keeps the last used 64 open (LRU). A directory that the box moves while it is open is still a directory of the
 * box.
 */
export interface DirectoryCache {
  /** Opens a directory. The result is valid until the next call. Throws a SyscallError, or `path_invalid` if it is not writable. */
  open(names: readonly RawPath[], options: { make: boolean }): OpenDirectory
  /** Closes the cached directories, since one of them may have been removed. */
  forget(): void
  /** Lists one opened directory of each disk, to sync it. */
  disks(): Iterable<number>
  close(): void
}

export function createDirectoryCache(destinationFd: number): DirectoryCache {
  const open = new Map<RawPath, OpenDirectory>()
  const disks = new Map<number, number>()
  const openEntry = (fd: number, path: RawPath): OpenDirectory => {
    try {
      checkWritableMount(fd, path)
      const { device, mountId } = statFd(fd)
      if (!disks.has(device)) disks.set(device, reopenDirectory(fd))
      return { fd, mountId }
    } catch (error) {
      closeFd(fd)
      throw error
    }
  }
  const forget = (): void => {
    for (const { fd } of open.values()) closeFd(fd)
    open.clear()
  }
  const insert = (path: RawPath, directory: OpenDirectory): OpenDirectory => {
    const [oldest] = open.size >= OPEN_MAX ? open : []
    if (oldest !== undefined) {
      open.delete(oldest[0])
      closeFd(oldest[1].fd)
    }
    open.set(path, directory)
    return directory
  }
  const openDirectory = (names: readonly RawPath[], make: boolean): OpenDirectory => {
    const path = names.join('/')
    const known = open.get(path)
    if (known !== undefined) {
      open.delete(path)
      open.set(path, known)
      return known
    }
    const name = names.at(-1)
    if (name === undefined) return insert(path, openEntry(openChild(destinationFd, '.'), path))
    const { fd: parentFd } = openDirectory(names.slice(0, -1), make)
    return insert(
      path,
      openEntry(make ? openOrCreate(parentFd, rawBytesOf(name)) : openChild(parentFd, rawBytesOf(name)), path),
    )
  }
  return {
    open: (names, { make }) => openDirectory(names, make),
    forget,
    disks: () => disks.values(),
    close: () => {
      forget()
      for (const fd of disks.values()) closeFd(fd)
    },
  }
}

function openOrCreate(parentFd: number, name: Buffer): number {
  try {
    return openChild(parentFd, name)
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
  }
  try {
    makeDirectoryAt(parentFd, name, 0o755)
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error
  }
  return openChild(parentFd, name)
}

function openChild(parentFd: number, name: string | Buffer): number {
  return openBelow(parentFd, name, { flags: O.PATH | O.DIRECTORY | O.NOFOLLOW, resolve: STRICT })
}

const STRICT = RESOLVE.BENEATH | RESOLVE.NO_SYMLINKS
const OPEN_MAX = 64
