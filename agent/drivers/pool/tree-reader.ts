import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { O, openBelow, RESOLVE, rawBytesOf } from '../../lib/syscalls/files.ts'
import { type FileStat, readLinkAt, statAt, statFd } from '../../lib/syscalls/stat.ts'
import { type RawPath } from '../files/paths.ts'

/** Reads entries of a tree that does not change. Never follows a link. */
export interface TreeReader {
  stat(path: RawPath): FileStat
  /** Opens a file or directory for reading. The caller closes it. */
  open(path: RawPath): number
  /** Reads the target of a symlink. */
  readLink(path: RawPath): Uint8Array
  close(): void
}

/** Creates a reader of the tree that `rootFd` is open on. Keeps the last directory open, because the next path is mostly in the same one. */
export function createTreeReader(rootFd: number): TreeReader {
  let directory: { path: RawPath; fd: number } | null = null
  const close = (): void => {
    if (directory !== null) closeFd(directory.fd)
    directory = null
  }
  const enter = (path: RawPath): number => {
    if (path === '') return rootFd
    if (directory?.path === path) return directory.fd
    close()
    const fd = openBelow(rootFd, rawBytesOf(path), { flags: O.PATH | O.DIRECTORY, resolve: RESOLVE_BELOW })
    directory = { path, fd }
    return fd
  }
  const locate = (path: RawPath): [directoryFd: number, name: Buffer] => {
    const slash = path.lastIndexOf('/')
    return [enter(path.slice(0, slash)), rawBytesOf(path.slice(slash + 1))]
  }
  return {
    stat: (path) => (path === '/' ? statFd(rootFd) : statAt(...locate(path))),
    open: (path) => {
      const [directoryFd, name] = path === '/' ? [rootFd, rawBytesOf('.')] : locate(path)
      return openBelow(directoryFd, name, { flags: O.RDONLY | O.NOFOLLOW, resolve: RESOLVE_BELOW })
    },
    readLink: (path) => readLinkAt(...locate(path)),
    close,
  }
}

const RESOLVE_BELOW = RESOLVE.IN_ROOT | RESOLVE.NO_SYMLINKS | RESOLVE.NO_MAGICLINKS
