import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { O, openBelow, RESOLVE } from '../../lib/syscalls/files.ts'
import { AT } from '../../lib/syscalls/mounts.ts'
import { DISK, diskOf, type FileStat, readLinkFd, statFd } from '../../lib/syscalls/stat.ts'
import type { FileFacts } from '../../ports/files/files.ts'
import { factsOf, kindOf } from './facts.ts'
import { pathInvalid, type RawPath, rawBytesOf } from './paths.ts'
import type { FileView } from './views.ts'

/**
 * Opens what a path of the box leads to as a path only (`O.PATH`), which has no effect on it, whatever it is. The last name,
 * if it is a link, is followed only if asked. Throws a SyscallError.
 */
export function openPath(view: FileView, raw: RawPath, { follow }: { follow: boolean }): number {
  return openBelow(view.rootFd, rawBytesOf(raw), { flags: O.PATH | (follow ? 0 : O.NOFOLLOW), resolve: IN_BOX })
}

/** As `openPath`, of a directory. */
export function openDirectoryPath(view: FileView, raw: RawPath): number {
  return openBelow(view.rootFd, rawBytesOf(raw), { flags: O.PATH | O.DIRECTORY, resolve: IN_BOX })
}

/** Opens a name in a directory as a path only, also a link; never through one. */
export function openName(directoryFd: number, name: RawPath): number {
  return openBelow(directoryFd, rawBytesOf(name), { flags: O.PATH | O.NOFOLLOW, resolve: ONE_NAME })
}

/** Opens what is open as a path for reading: the very same file, whatever has its name by now. */
export function reopenFile(pathFd: number): number {
  // A lease of another, which one may have to wait for, is then an EAGAIN.
  return openBelow(AT.FDCWD, `/proc/self/fd/${pathFd}`, { flags: O.RDONLY | O.NONBLOCK | O.NOCTTY })
}

/** As `reopenFile`, of a directory. */
export function reopenDirectory(pathFd: number): number {
  return openBelow(pathFd, '.', { flags: O.RDONLY | O.DIRECTORY, resolve: ONE_NAME })
}

/** As `reopenDirectory`, of several: all of them, or none. */
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

/** Whether something is on one of the disks of the box, and not the kernel's own, as /proc. */
export function isReadable(fd: number): boolean {
  return READABLE.has(diskOf(fd).magic)
}

/** Throws `path_invalid` for what is not `isReadable`. */
export function checkReadable(fd: number, raw: RawPath): void {
  if (!isReadable(fd)) throw pathInvalid(raw, 'it is on no disk of the box')
}

/** As `checkReadable`, and `path_invalid` for what is mounted read-only, or in memory. */
export function checkWritableMount(fd: number, raw: RawPath): void {
  const { magic, isReadOnly } = diskOf(fd)
  if (!READABLE.has(magic) || magic === DISK.TMPFS) throw pathInvalid(raw, 'it is on no disk of the box')
  if (isReadOnly || magic !== DISK.BTRFS) throw pathInvalid(raw, 'it is on a volume that is mounted read-only')
}

/** The facts of what is open as a path. */
export function readFacts(view: FileView, fd: number, stat: FileStat = statFd(fd)): FileFacts {
  return factsOf(stat, view.idBase, kindOf(stat) === 'symlink' ? readLinkFd(fd) : null)
}

/** Opens, does `work` and closes, whatever comes of it. */
export function withFd<T>(fd: number, work: (fd: number) => T): T {
  try {
    return work(fd)
  } finally {
    closeFd(fd)
  }
}

// The kernel resolves: it takes the box's root for the root, and no magic link, which could lead out of that.
const IN_BOX = RESOLVE.IN_ROOT | RESOLVE.NO_MAGICLINKS
const ONE_NAME = RESOLVE.BENEATH | RESOLVE.NO_SYMLINKS
// The last three are of the host, with files that every box is started with, as /etc/hosts. What is in memory may be read and
// not written: it would not last, and no box would be charged for it.
const READABLE: ReadonlySet<number> = new Set([DISK.BTRFS, DISK.TMPFS, DISK.EXT4, DISK.XFS, DISK.OVERLAY])
