import { ServiceError } from '../../../../shared/errors.ts'
import { closeFd } from '../../../lib/syscalls/descriptors.ts'
import { readEntries } from '../../../lib/syscalls/directories.ts'
import { DISK, diskOf, type FileStat } from '../../../lib/syscalls/stat.ts'
import type { RawPath } from '../paths.ts'

/** A directory of the current path in the tree, open for reading. */
export interface Level {
  fd: number
  mountId: number
  /** Its path, which precedes its names. */
  prefix: RawPath
  /** Names not returned yet, the next one last. */
  names: RawPath[]
  isRead: boolean
}

/**
 * Enters a directory, and takes over its descriptor. Treats a mounted kernel filesystem as empty. Throws `path_invalid` beyond 256 levels.
 */
export function enterLevel(levels: Level[], next: { fd: number; stat: FileStat; prefix: RawPath }): void {
  const { fd, stat, prefix } = next
  const level: Level = { fd, mountId: stat.mountId, prefix, names: [], isRead: false }
  levels.push(level)
  if (levels.length > 1 && stat.isMountRoot) level.isRead = diskOf(fd).magic !== DISK.BTRFS
  if (levels.length > LEVELS_MAX)
    throw new ServiceError('path_invalid', `A directory in it is deeper than ${LEVELS_MAX} levels.`)
}

/** Returns the next name in the innermost directory, or null at its end. Names are sorted by bytes within batches of up to 16,384. */
export function nextName(levels: readonly Level[]): RawPath | null {
  const level = levels.at(-1)
  if (level === undefined) return null
  if (level.names.length === 0 && !level.isRead) readMore(levels, level)
  return level.names.pop() ?? null
}

export function closeLevels(levels: readonly Level[]): void {
  for (const { fd } of levels) closeFd(fd)
}

function readMore(levels: readonly Level[], level: Level): void {
  let nameCount = 0
  for (const { names } of levels) nameCount += names.length
  do {
    const entries = readEntries(level.fd, BUFFER)
    level.isRead = entries === null
    for (const { name } of entries ?? []) level.names.push(name)
    nameCount += entries?.length ?? 0
  } while (!level.isRead && nameCount < NAMES_MAX)
  level.names.sort().reverse()
}

// Each keeps a descriptor and up to 32 KiB of names.
const LEVELS_MAX = 256
const NAMES_MAX = 16_384
const BUFFER = Buffer.allocUnsafeSlow(32 * 1024)
