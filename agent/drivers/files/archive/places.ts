import { closeFd } from '../../../lib/syscalls/descriptors.ts'
import { makeDirectoryAt, O, openBelow, RESOLVE } from '../../../lib/syscalls/files.ts'
import { isErrno } from '../../../lib/syscalls/libc.ts'
import { statFd } from '../../../lib/syscalls/stat.ts'
import { type RawPath, rawBytesOf } from '../paths.ts'
import { checkWritableMount, reopenDirectory } from '../resolve.ts'

/** A directory in which entries are made, open as a path. */
export interface Place {
  fd: number
  mountId: number
}

/**
 * The directories of an archive, below the one it is unpacked into: each is opened by its name in the one above, never through
 * a link, and made (0755) if it is missing and asked for. The last used ones stay open: one that the box moves away meanwhile is still a
 * directory of the box.
 */
export interface Places {
  /** Good until the next call. Throws a SyscallError, or `path_invalid` for what may not be written. */
  open(names: readonly RawPath[], options: { make: boolean }): Place
  /** Opens none of those again that are open, as one may have been removed. */
  forget(): void
  /** Of each disk that was opened a directory, to sync it. */
  disks(): Iterable<number>
  close(): void
}

export function createPlaces(destinationFd: number): Places {
  const open = new Map<RawPath, Place>()
  const disks = new Map<number, number>()
  const admit = (fd: number, path: RawPath): Place => {
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
  const keep = (path: RawPath, place: Place): Place => {
    const [oldest] = open.size >= OPEN_MAX ? open : []
    if (oldest !== undefined) {
      open.delete(oldest[0])
      closeFd(oldest[1].fd)
    }
    open.set(path, place)
    return place
  }
  const openDirectory = (names: readonly RawPath[], make: boolean): Place => {
    const path = names.join('/')
    const known = open.get(path)
    if (known !== undefined) {
      open.delete(path)
      open.set(path, known)
      return known
    }
    const name = names.at(-1)
    if (name === undefined) return keep(path, admit(openStrictly(destinationFd, '.'), path))
    const { fd: parentFd } = openDirectory(names.slice(0, -1), make)
    return keep(
      path,
      admit(make ? openOrMake(parentFd, rawBytesOf(name)) : openStrictly(parentFd, rawBytesOf(name)), path),
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

function openOrMake(parentFd: number, name: Buffer): number {
  try {
    return openStrictly(parentFd, name)
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
  }
  try {
    makeDirectoryAt(parentFd, name, 0o755)
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error
  }
  return openStrictly(parentFd, name)
}

function openStrictly(parentFd: number, name: string | Buffer): number {
  return openBelow(parentFd, name, { flags: O.PATH | O.DIRECTORY | O.NOFOLLOW, resolve: STRICT })
}

const STRICT = RESOLVE.BENEATH | RESOLVE.NO_SYMLINKS
const OPEN_MAX = 64
