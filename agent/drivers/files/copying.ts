import { listAttributes, readAttribute, removeAttribute, writeAttribute } from '../../lib/syscalls/attributes.ts'
import { changeOwner, closeFd, controlBuffer } from '../../lib/syscalls/descriptors.ts'
import { changeMode } from '../../lib/syscalls/directories.ts'
import { O, openBelow, RESOLVE } from '../../lib/syscalls/files.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import { setModified } from '../../lib/syscalls/marks.ts'
import type { FileStat } from '../../lib/syscalls/stat.ts'
import type { Steps } from '../../lib/threads/steps.ts'
import { type RawPath, rawBytesOf } from './paths.ts'
import { reopenFile, withFd } from './resolve.ts'

/** A regular file of a snapshot. */
export interface CopySource {
  /** Open as a path. */
  fd: number
  stat: FileStat
  /** The id of the box's id 0 where the copy is made. */
  idBase: number
}

/** Whoever can wait a turn. */
export interface Turns {
  mustPause(): boolean
}

/**
 * Makes a copy in a directory, of the name, or without one: the caller closes it. It shares its bytes with the file, so that none
 * are written, and has its owner, mode, attributes and time.
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

/** Gives what is open for writing, or a directory, what is known of another, of which that is `stat`. */
export function copyFacts(fromFd: number, toFd: number, { stat, idBase }: Omit<CopySource, 'fd'>): void {
  // In this order: a change of the owner takes capabilities and bits of the mode away, and an access list is a part of the mode.
  changeOwner(toFd, idBase + stat.uid, idBase + stat.gid)
  copyAttributes(fromFd, toFd, idBase)
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
  for (let start = 0; start < sizeBytes; start += RANGE_BYTES) {
    const length = start + RANGE_BYTES < sizeBytes ? RANGE_BYTES : TO_THE_END
    try {
      shareRange(sharing, start, length)
    } catch (error) {
      if (!isErrno(error, 'EINVAL') || start > 0) throw error
      // Files with and without checksums have no bytes in common; an empty one can be made either.
      takeChecksums(fromFd, toFd)
      shareRange(sharing, start, length)
    }
    if (io.mustPause()) yield 'turn'
  }
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
  const wanted = Buffer.alloc(8)
  wanted.writeUInt32LE(((flagsOf(toFd) & ~FS_NOCOW) | (flagsOf(fromFd) & FS_NOCOW)) >>> 0)
  controlBuffer(toFd, FS_IOC_SETFLAGS, wanted)
}

// What is new may have some of the directory that it is in.
function copyAttributes(fromFd: number, toFd: number, idBase: number): void {
  const names = listAttributes(fromFd)
  for (const name of listAttributes(toFd)) if (!names.includes(name)) removeAttribute(toFd, name)
  for (const name of names) {
    const value = readAttribute(fromFd, name)
    if (name.startsWith('system.posix_acl_')) shiftIds(value, idBase)
    writeAttribute(toFd, name, value)
  }
}

/** Has an access list tell ids as they are where it is written. */
function shiftIds(list: Buffer, idBase: number): void {
  for (let start = ACL_HEADER_BYTES; start + ACL_ENTRY_BYTES <= list.length; start += ACL_ENTRY_BYTES)
    if (ACL_WITH_ID.has(list.readUInt16LE(start))) list.writeUInt32LE(list.readUInt32LE(start + 4) + idBase, start + 4)
}

/** As `copyFile`, of a name, and done with. */
export function* copyNamedFile(
  io: Turns,
  source: CopySource,
  place: { directoryFd: number; name: RawPath },
): Steps<void> {
  withFd(yield* copyFile(io, source, place), () => undefined)
}

const STRICT = RESOLVE.BENEATH | RESOLVE.NO_SYMLINKS | RESOLVE.NO_XDEV
const NAMELESS = { flags: O.TMPFILE | O.RDWR, mode: 0o600, resolve: STRICT }
const NAMED = { flags: O.CREAT | O.EXCL | O.NOFOLLOW | O.RDWR, mode: 0o600, resolve: STRICT }
// Of linux/fs.h; the kernel takes the length 0 for all there is.
const FICLONERANGE = 0x4020940d
const TO_THE_END = 0
const FS_IOC_GETFLAGS = 0x80086601
const FS_IOC_SETFLAGS = 0x40086602
const FS_NOCOW = 0x00800000
// Each costs by how many pieces it lies in, and nothing else has its turn meanwhile.
const RANGE_BYTES = 64 * 1024 * 1024
// Of linux/posix_acl_xattr.h: a version, then for each entry its tag, its rights and an id, which users and groups have.
const ACL_HEADER_BYTES = 4
const ACL_ENTRY_BYTES = 8
const ACL_WITH_ID: ReadonlySet<number> = new Set([2, 8])
