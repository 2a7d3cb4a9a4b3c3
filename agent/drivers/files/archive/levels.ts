import { ServiceError } from '../../../../shared/errors.ts'
import { closeFd } from '../../../lib/syscalls/descriptors.ts'
import { readEntries } from '../../../lib/syscalls/directories.ts'
import { DISK, diskOf, type FileStat } from '../../../lib/syscalls/stat.ts'
import type { RawPath } from '../paths.ts'

/** A directory that is being gone through, open for reading. */
export interface Level {
  fd: number
  mountId: number
  /** What its names have at their front. */
  prefix: RawPath
  /** Names that were read and have not had their turn, the next one last. */
  names: RawPath[]
  isRead: boolean
}

/**
 * Goes into a directory, which is closed when it is left; of one in which the kernel has something of its own mounted
 * nothing is seen. Throws `path_invalid` beyond 256 levels.
 */
export function enterLevel(levels: Level[], next: { fd: number; stat: FileStat; prefix: RawPath }): void {
  const { fd, stat, prefix } = next
  const level: Level = { fd, mountId: stat.mountId, prefix, names: [], isRead: false }
  levels.push(level)
  if (levels.length > 1 && stat.isMountRoot) level.isRead = diskOf(fd).magic !== DISK.BTRFS
  if (levels.length > LEVELS_MAX)
    throw new ServiceError('path_invalid', `A directory in it is deeper than ${LEVELS_MAX} levels.`)
}

/**
 * The next name in the innermost directory, null at its end: in the order of their bytes, or where there are more than 16,384
 * names so many at a time.
 */
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
  let held = 0
  for (const { names } of levels) held += names.length
  do {
    const entries = readEntries(level.fd, BUFFER)
    level.isRead = entries === null
    for (const { name } of entries ?? []) level.names.push(name)
    held += entries?.length ?? 0
  } while (!level.isRead && held < NAMES_MAX)
  level.names.sort().reverse()
}

// Each has a descriptor open, and up to 32 KiB of names.
const LEVELS_MAX = 256
const NAMES_MAX = 16_384
const BUFFER = Buffer.allocUnsafeSlow(32 * 1024)
