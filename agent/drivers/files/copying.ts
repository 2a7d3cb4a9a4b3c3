import { changeOwner, closeFd, controlBuffer } from '../../lib/syscalls/descriptors.ts'
import { changeMode } from '../../lib/syscalls/directories.ts'
import { O, openBelow, RESOLVE, rawBytesOf } from '../../lib/syscalls/files.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import { setModified } from '../../lib/syscalls/metadata.ts'
import { seekData, seekEnd, truncateFd } from '../../lib/syscalls/sparse.ts'
import type { FileStat } from '../../lib/syscalls/stat.ts'
import type { Steps } from '../../lib/threads/task.ts'
import { copyAttributes } from './attributes.ts'
import { type RawPath } from './paths.ts'
import { reopenFile, withFd } from './resolve.ts'

/** A regular file of a snapshot. */
export interface CopySource {
  /** Open with `O_PATH`. */
  fd: number
  stat: FileStat
  /** The host id of the box's id 0 at the place of the copy. */
  idBase: number
  /** The path that errors name. */
  path: RawPath
}

/** The part of TaskIo that steps need to yield. */
export interface Turns {
  mustPause(): boolean
}

/**
 * Copies a file into a directory, under `name` or unnamed, and returns its descriptor, which the caller closes. The copy shares the
 * extents of the file (reflink) and has its owner, mode, attributes and time.
 */
export function* copyFile(
  io: Turns,
  source: CopySource,
  { directoryFd, name }: { directoryFd: number; name: RawPath | null },
): Steps<number> {
  const copyFd = openBelow(directoryFd, name === null ? '.' : rawBytesOf(name), name === null ? NAMELESS : NAMED)
  let fromFd: number | undefined
  try {
    fromFd = reopenFile(source.fd)
    yield* shareBytes(io, { fromFd, toFd: copyFd, sizeBytes: source.stat.sizeBytes })
    copyFacts(fromFd, copyFd, source)
    return copyFd
  } catch (error) {
    closeFd(copyFd)
    throw error
  } finally {
    if (fromFd !== undefined) closeFd(fromFd)
  }
}

/** Copies owner, attributes, mode and time to a file or directory. `fromFd` may be open with `O_PATH`. */
export function copyFacts(fromFd: number, toFd: number, { stat, idBase, path }: Omit<CopySource, 'fd'>): void {
  // The order matters, because chown clears capabilities and set-id bits, and writing an ACL changes the mode.
  changeOwner(toFd, idBase + stat.uid, idBase + stat.gid)
  copyAttributes(fromFd, toFd, { path, idShift: idBase })
  changeMode(toFd, stat.mode & 0o7777)
  setModified(toFd, fileTimeOf(stat))
}

export function fileTimeOf({ modifiedSeconds, modifiedNanoseconds }: FileStat): {
  seconds: number
  nanoseconds: number
} {
  return { seconds: modifiedSeconds, nanoseconds: modifiedNanoseconds }
}

interface Sharing {
  fromFd: number
  toFd: number
  sizeBytes: number
}

function* shareBytes(io: Turns, sharing: Sharing): Steps<void> {
  const { fromFd, toFd, sizeBytes } = sharing
  // A hole has nothing to share, however long it is.
  const next = (offset: number): bigint | null => (offset < sizeBytes ? seekData(fromFd, BigInt(offset)) : null)
  let isFirst = true
  for (let data = next(0); data !== null; isFirst = false) {
    const start = Number(data)
    const length = start + RANGE_BYTES < sizeBytes ? RANGE_BYTES : TO_THE_END
    try {
      shareRange(sharing, start, length)
    } catch (error) {
      if (!isErrno(error, 'EINVAL') || !isFirst) throw error
      // Files with and without checksums (nodatacow) cannot share extents, but an empty file can still switch.
      takeChecksums(fromFd, toFd)
      shareRange(sharing, start, length)
    }
    if (io.mustPause()) yield 'turn'
    data = next(start + RANGE_BYTES)
  }
  const end = seekEnd(fromFd)
  if (seekEnd(toFd) < end) truncateFd(toFd, end)
}

function shareRange({ fromFd, toFd }: Sharing, start: number, length: number): void {
  const range = Buffer.alloc(32)
  for (const [index, value] of [fromFd, start, length, start].entries()) range.writeBigInt64LE(BigInt(value), index * 8)
  controlBuffer(toFd, FICLONERANGE, range)
}

function takeChecksums(fromFd: number, toFd: number): void {
  const flagsOf = (fd: number): number => {
    const flags = Buffer.alloc(8)
    controlBuffer(fd, FS_IOC_GETFLAGS, flags)
    return flags.readUInt32LE(0)
  }
  const flags = Buffer.alloc(8)
  flags.writeUInt32LE(((flagsOf(toFd) & ~FS_NOCOW) | (flagsOf(fromFd) & FS_NOCOW)) >>> 0)
  controlBuffer(toFd, FS_IOC_SETFLAGS, flags)
}

/** As `copyFile`, with a name, and closes it. */
export function* copyNamedFile(
  io: Turns,
  source: CopySource,
  target: { directoryFd: number; name: RawPath },
): Steps<void> {
  withFd(yield* copyFile(io, source, target), () => undefined)
}

const STRICT = RESOLVE.BENEATH | RESOLVE.NO_SYMLINKS | RESOLVE.NO_XDEV
const NAMELESS = { flags: O.TMPFILE | O.RDWR, mode: 0o600, resolve: STRICT }
const NAMED = { flags: O.CREAT | O.EXCL | O.NOFOLLOW | O.RDWR, mode: 0o600, resolve: STRICT }
// From linux/fs.h. A length of 0 means up to the end.
const FICLONERANGE = 0x4020940d
const TO_THE_END = 0
const FS_IOC_GETFLAGS = 0x80086601
const FS_IOC_SETFLAGS = 0x40086602
const FS_NOCOW = 0x00800000
// Limits one call, whose time grows with the number of extents and during which no other task runs.
const RANGE_BYTES = 64 * 1024 * 1024
