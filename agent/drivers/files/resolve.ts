import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { O, openBelow, RESOLVE, rawBytesOf } from '../../lib/syscalls/files.ts'
import { AT } from '../../lib/syscalls/mounts.ts'
import { DISK, diskOf, type FileStat, readLinkFd, statFd } from '../../lib/syscalls/stat.ts'
import type { FileFacts } from '../../ports/files/files.ts'
import { factsOf, kindOf } from './facts.ts'
import { pathInvalid, type RawPath } from './paths.ts'
import type { FileView } from './views.ts'

/**
 * Opens a path of the box with `O_PATH`, which has no side effect on devices or FIFOs. Follows a link at the end only with
 * `follow`. Throws a SyscallError.
 */
export function openPath(view: FileView, raw: RawPath, { follow }: { follow: boolean }): number {
  return openBelow(view.rootFd, rawBytesOf(raw), { flags: O.PATH | (follow ? 0 : O.NOFOLLOW), resolve: IN_BOX })
}

/** As `openPath`, for a directory. */
export function openDirectoryPath(view: FileView, raw: RawPath): number {
  return openBelow(view.rootFd, rawBytesOf(raw), { flags: O.PATH | O.DIRECTORY, resolve: IN_BOX })
}

/** Opens a name in a directory with `O_PATH`, a link as itself. */
export function openName(directoryFd: number, name: RawPath): number {
  return openBelow(directoryFd, rawBytesOf(name), { flags: O.PATH | O.NOFOLLOW, resolve: ONE_NAME })
}

/** Opens a file that is open with `O_PATH` for reading. It is the same file, even if another has its name by now. */
export function reopenFile(pathFd: number): number {
  // O_NONBLOCK turns waiting for another process's lease into EAGAIN.
  return openBelow(AT.FDCWD, `/proc/self/fd/${pathFd}`, { flags: O.RDONLY | O.NONBLOCK | O.NOCTTY })
}

/** As `reopenFile`, for a directory. */
export function reopenDirectory(pathFd: number): number {
  return openBelow(pathFd, '.', { flags: O.RDONLY | O.DIRECTORY, resolve: ONE_NAME })
}

/** As `reopenDirectory`, for several. Opens all or none. */
export function reopenDirectories(pathFds: readonly number[]): number[] {
  const fds: number[] = []
  try {
    for (const pathFd of pathFds) fds.push(reopenDirectory(pathFd))
    return fds
  } catch (error) {
    fds.forEach(closeFd)
    throw error
  }
}

/** Returns true if a file is on a disk of the box, and not on a kernel filesystem such as /proc. */
export function isReadable(fd: number): boolean {
  return READABLE.has(diskOf(fd).magic)
}

/** Throws `path_invalid` unless `isReadable`. */
export function checkReadable(fd: number, raw: RawPath): void {
  if (!isReadable(fd)) throw pathInvalid(raw, 'it is not on a disk of the box')
}

/** As `checkReadable`. Also throws `path_invalid` on a read-only mount or a tmpfs. */
export function checkWritableMount(fd: number, raw: RawPath): void {
  const { magic, isReadOnly } = diskOf(fd)
  if (!READABLE.has(magic) || magic === DISK.TMPFS) throw pathInvalid(raw, 'it is not on a disk of the box')
  if (isReadOnly || magic !== DISK.BTRFS) throw pathInvalid(raw, 'it is on a volume that is mounted read-only')
}

/** Reads the details of a file that is open with `O_PATH`. */
export function readFacts(view: FileView, fd: number, stat: FileStat = statFd(fd)): FileFacts {
  return factsOf(stat, view.idBase, kindOf(stat) === 'symlink' ? readLinkFd(fd) : null)
}

/** Runs `work` with a descriptor, and closes it in any case. */
export function withFd<T>(fd: number, work: (fd: number) => T): T {
  try {
    return work(fd)
  } finally {
    closeFd(fd)
  }
}

// The kernel resolves with the box's root as root, and refuses magic links, which could lead out of it.
const IN_BOX = RESOLVE.IN_ROOT | RESOLVE.NO_MAGICLINKS
const ONE_NAME = RESOLVE.BENEATH | RESOLVE.NO_SYMLINKS
// The last three are host filesystems with files mounted into every box, such as /etc/machine-id. A tmpfs is readable but not writable,
// because its contents do not last and count against no quota.
const READABLE: ReadonlySet<number> = new Set([DISK.BTRFS, DISK.TMPFS, DISK.EXT4, DISK.XFS, DISK.OVERLAY])
