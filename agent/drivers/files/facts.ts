import { constants } from 'node:fs'
import type { FileStat } from '../../lib/syscalls/stat.ts'
import type { FileFacts, FileKind } from '../../ports/files/files.ts'

/** The fields of a stat that `FileFacts` need. */
export type ListedStat = Omit<FileStat, 'links' | 'device' | 'mountId' | 'isMountRoot'>

/** Returns the details of a file of a box whose id 0 is `idBase` on the host. `target` is the text of a link. Pure. */
export function factsOf(stat: ListedStat, idBase: number, target: Uint8Array | null): FileFacts {
  return {
    kind: kindOf(stat),
    sizeBytes: stat.sizeBytes,
    mode: stat.mode & 0o7777,
    uid: boxId(stat.uid, idBase),
    gid: boxId(stat.gid, idBase),
    modifiedAt: withinCalendar(stat.modifiedSeconds * 1000 + Math.floor(stat.modifiedNanoseconds / 1e6)),
    etag: fileEtagOf(stat),
    target,
  }
}

export function kindOf({ mode }: Pick<FileStat, 'mode'>): FileKind {
  return KINDS[(mode & constants.S_IFMT) >> 12] ?? 'file'
}

/**
 * Derives an etag from inode, size and times. Excludes the device number, which changes with every mount of the pool. btrfs never reuses
 * inode numbers, and every change of data or metadata changes a time.
 */
export function fileEtagOf(stat: ListedStat): string {
  const { inode, sizeBytes, modifiedSeconds, modifiedNanoseconds, changedSeconds, changedNanoseconds } = stat
  const modified = `${short(modifiedSeconds)}-${short(modifiedNanoseconds)}`
  return `"${short(inode)}-${short(sizeBytes)}-${modified}-${short(changedSeconds)}-${short(changedNanoseconds)}"`
}

function short(number: number): string {
  return number.toString(36)
}

/** Returns true if owner and group of a file are ids of the box. */
export function hasBoxId({ uid, gid }: FileStat, idBase: number): boolean {
  return [uid, gid].every((id) => id >= idBase && id < idBase + IDS_PER_BOX)
}

function boxId(hostId: number, idBase: number): number {
  const id = hostId - idBase
  return id >= 0 && id < IDS_PER_BOX ? id : NOBODY
}

// File times have no limits, but RFC 3339 has only the years 0 to 9999.
function withinCalendar(ms: number): number {
  return Math.min(Math.max(ms, FIRST_MS), LAST_MS)
}

const FIRST_MS = -62_167_219_200_000
const LAST_MS = 253_402_300_799_999
const NOBODY = 65_534
const IDS_PER_BOX = 65_536

/** By the bits that `S_IFMT` covers. */
const KINDS: Readonly<Record<number, FileKind>> = {
  1: 'fifo',
  2: 'character',
  4: 'directory',
  6: 'block',
  8: 'file',
  10: 'symlink',
  12: 'socket',
}
