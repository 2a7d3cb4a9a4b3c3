import { constants } from 'node:fs'
import type { FileStat } from '../../lib/syscalls/stat.ts'
import type { FileFacts, FileKind } from '../../ports/files/files.ts'

/** What of a file its facts are made of. */
export type ListedStat = Omit<FileStat, 'links' | 'device' | 'mountId' | 'isMountRoot'>

/** The facts of a file of a box whose id 0 is `idBase` here; `target` is what a link says. A pure function. */
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
 * The number of a subvolume is another after each mount, and so no part of it; an inode's number is used once, and each change
 * of what is in it, or known of it, gives it another time.
 */
export function fileEtagOf(stat: ListedStat): string {
  const { inode, sizeBytes, modifiedSeconds, modifiedNanoseconds, changedSeconds, changedNanoseconds } = stat
  const modified = `${short(modifiedSeconds)}-${short(modifiedNanoseconds)}`
  return `"${short(inode)}-${short(sizeBytes)}-${modified}-${short(changedSeconds)}-${short(changedNanoseconds)}"`
}

function short(number: number): string {
  return number.toString(36)
}

/** Whether owner and group of a file are ids that the box has. */
export function hasBoxId({ uid, gid }: FileStat, idBase: number): boolean {
  return [uid, gid].every((id) => id >= idBase && id < idBase + IDS_PER_BOX)
}

function boxId(hostId: number, idBase: number): number {
  const id = hostId - idBase
  return id >= 0 && id < IDS_PER_BOX ? id : NOBODY
}

// A file may say that it is of any time, and RFC 3339 has the years 0 to 9999.
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
