import { randomBytes } from 'node:crypto'
import { ServiceError } from '../../../../shared/errors.ts'
import { changeOwner } from '../../../lib/syscalls/descriptors.ts'
import { changeMode, linkAt, linkFd, symlinkAt } from '../../../lib/syscalls/directories.ts'
import {
  makeDirectoryAt,
  O,
  openBelow,
  RESOLVE,
  rawBytesOf,
  removeAt,
  renameBetween,
  writeFd,
} from '../../../lib/syscalls/files.ts'
import { isErrno } from '../../../lib/syscalls/libc.ts'
import { changeOwnerOfPath, setModified } from '../../../lib/syscalls/metadata.ts'
import { seekTo, truncateFd } from '../../../lib/syscalls/sparse.ts'
import { statAt, statFd } from '../../../lib/syscalls/stat.ts'
import type { TarEntry } from '../../../lib/tar/reader.ts'
import type { SparseLayout } from '../../../lib/tar/sparse.ts'
import type { Steps } from '../../../lib/threads/task.ts'
import { copyAttributes } from '../attributes.ts'
import { kindOf } from '../facts.ts'
import { type RawPath } from '../paths.ts'
import { checkWritableMount, openName, withFd } from '../resolve.ts'
import type { OpenDirectory } from './directory-cache.ts'
import { EntryRefusedError } from './refusals.ts'

/** The place for a new entry. */
export interface EntryTarget {
  directory: OpenDirectory
  name: RawPath
  /** The host id of the box's id 0. */
  idBase: number
  /** Gives a file the attributes of the one that it replaces, as a write does. */
  keepsAttributes: boolean
}

/** Opens an unnamed file, which disappears if it is never linked. */
export function openUnnamed({ directory }: EntryTarget, { mode }: TarEntry): number {
  return openBelow(directory.fd, '.', { flags: O.TMPFILE | O.WRONLY, mode: mode & 0o7777, resolve: STRICT })
}

/** Fills an unnamed file piece by piece. A file with holes gets its data at the same offsets. */
export function* fillUnnamed(
  fd: number,
  { sparse }: Pick<TarEntry, 'sparse'>,
  { read, mustPause }: { read(): Steps<Buffer | null>; mustPause(): boolean },
): Steps<void> {
  if (sparse !== null) {
    truncateFd(fd, sparse.sizeBytes)
    yield* fillRanges(fd, sparse, { read, mustPause })
    return
  }
  for (let piece = yield* read(); piece !== null; piece = yield* read()) {
    writeFd(fd, piece)
    if (mustPause()) yield 'turn'
  }
}

function* fillRanges(
  fd: number,
  { ranges }: SparseLayout,
  { read, mustPause }: { read(): Steps<Buffer | null>; mustPause(): boolean },
): Steps<void> {
  let rest: Buffer = NOTHING
  for (const { start, sizeBytes } of ranges) {
    seekTo(fd, start)
    for (let left = sizeBytes; left > 0; ) {
      const piece: Buffer | null = rest.length > 0 ? rest : yield* read()
      if (piece === null) return
      writeFd(fd, piece.subarray(0, left))
      rest = piece.subarray(left)
      left -= piece.length - rest.length
      if (mustPause()) yield 'turn'
    }
  }
}

/** Sets the metadata of an unnamed file and links it, replacing a file or link. */
export function linkFile(target: EntryTarget, entry: TarEntry, fd: number): void {
  setFacts(fd, target, entry)
  setModified(fd, entryTimeOf(entry))
  const keepAttributes = (presentFd: number): void => {
    withReason(() => copyAttributes(presentFd, fd, { path: target.name, idShift: 0 }))
    changeMode(fd, entry.mode & 0o7777)
  }
  const link = (name: Buffer): void => linkFd(fd, target.directory.fd, name)
  takeName(target, link, target.keepsAttributes ? keepAttributes : undefined)
}

function withReason(copy: () => void): void {
  try {
    copy()
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    throw new EntryRefusedError('an extended attribute of the file that it replaces cannot be kept', { cause: error })
  }
}

/** Creates a directory, or takes the one that exists. Sets its metadata except the time, which its entries will change. */
export function createDirectory(target: EntryTarget, entry: TarEntry): void {
  const name = rawBytesOf(target.name)
  try {
    makeDirectoryAt(target.directory.fd, name, entry.mode & 0o7777)
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error
  }
  withFd(openBelow(target.directory.fd, name, DIRECTORY), (fd) => {
    checkWritableMount(fd, target.name)
    setFacts(fd, target, entry)
  })
}

export function createSymlink(target: EntryTarget, entry: TarEntry): void {
  const text = rawBytesOf(entry.target)
  takeName(target, (name) => {
    symlinkAt(text, target.directory.fd, name)
    withFd(openName(target.directory.fd, name.toString('latin1', 0, name.length - 1)), (fd) => {
      // The box may have replaced it.
      if (kindOf(statFd(fd)) !== 'symlink') return
      changeOwnerOfPath(fd, target.idBase + entry.uid, target.idBase + entry.gid)
      setModified(fd, entryTimeOf(entry))
    })
  })
}

/** Creates a hard link to `from`. */
export function createHardLink(target: EntryTarget, from: { fd: number; name: RawPath }): void {
  const kind = kindOf(statAt(from.fd, rawBytesOf(from.name)))
  if (kind !== 'file' && kind !== 'symlink')
    throw new EntryRefusedError('it links to what is neither a file nor a link')
  takeName(target, (name) => linkAt(from.fd, rawBytesOf(from.name), { fd: target.directory.fd, name }))
}

export function entryTimeOf({ modifiedSeconds, modifiedNanoseconds }: TarEntry): {
  seconds: number
  nanoseconds: number
} {
  return { seconds: modifiedSeconds, nanoseconds: modifiedNanoseconds }
}

function setFacts(fd: number, { idBase }: EntryTarget, { uid, gid, mode }: TarEntry): void {
  changeOwner(fd, idBase + uid, idBase + gid)
  // Sets the mode last, because chown clears the set-id bits, and an existing directory may have another mode.
  changeMode(fd, mode & 0o7777)
}

/**
 * Calls `make` with the name. If a file or link has it, calls `make` with a temporary name that then replaces it. Before that it calls
 * `onReplaced` with a replaced file, open with `O_PATH`.
 */
function takeName(
  { directory, name }: EntryTarget,
  make: (name: Buffer) => void,
  onReplaced?: (presentFd: number) => void,
): void {
  const final = rawBytesOf(name)
  for (let attempt = 1; ; attempt++) {
    try {
      return make(final)
    } catch (error) {
      if (!isErrno(error, 'EEXIST')) throw error
    }
    try {
      if (onReplaced !== undefined) withPresentFile(directory.fd, name, onReplaced)
      return replace(directory, final, make)
    } catch (error) {
      // The box has just removed it.
      if (!isErrno(error, 'ENOENT') || attempt >= ATTEMPTS_MAX) throw error
    }
  }
}

function withPresentFile(directoryFd: number, name: RawPath, work: (fd: number) => void): void {
  withFd(openName(directoryFd, name), (fd) => {
    if (kindOf(statFd(fd)) === 'file') work(fd)
  })
}

function replace(directory: OpenDirectory, final: Buffer, make: (name: Buffer) => void): void {
  const stat = statAt(directory.fd, final)
  // The kernel refuses a rename onto a mount point only in its own mount namespace. From here the rename would detach the mount.
  if (stat.mountId !== directory.mountId) throw new EntryRefusedError('a volume or file of the system is mounted there')
  const kind = kindOf(stat)
  if (kind !== 'file' && kind !== 'symlink') throw new EntryRefusedError('something of another kind has its name')
  const temporaryName = Buffer.from(`.boxyard-${randomBytes(8).toString('hex')}\0`)
  make(temporaryName)
  try {
    renameBetween({ fromFd: directory.fd, fromName: temporaryName, toFd: directory.fd, toName: final })
  } finally {
    removeTemporary(directory.fd, temporaryName)
  }
}

// A rename between two names of the same file does nothing and leaves both.
function removeTemporary(directoryFd: number, temporaryName: Buffer): void {
  try {
    removeAt(directoryFd, temporaryName)
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
  }
}

const NOTHING = Buffer.alloc(0)
const STRICT = RESOLVE.BENEATH | RESOLVE.NO_SYMLINKS
const DIRECTORY = { flags: O.RDONLY | O.DIRECTORY | O.NOFOLLOW, resolve: STRICT }
const ATTEMPTS_MAX = 10
