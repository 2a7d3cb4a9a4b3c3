import { lstatSync, readdirSync, readlinkSync, type Stats } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { textOfBytes } from '../../sdk/typescript/src/byte-names.ts'
import { UsageError } from '../output/failures.ts'
import { systemPath } from './local-places.ts'
import { specialKindOf } from './special-files.ts'

/** A file, directory or symbolic link below a directory of this machine. */
export interface LocalEntry {
  /** Path below the directory, with slashes, as `textOfBytes` decodes it. Empty for the directory itself. */
  path: string
  kind: 'file' | 'directory' | 'symlink'
  sizeBytes: number
  mode: number
  /** Whole milliseconds since the epoch. */
  modifiedMs: number
  /** Target of a link, otherwise null. */
  target: string | null
}

/** Returns whether to exclude a path below a directory, with everything in it. */
export type Exclusion = (path: string, isDirectory: boolean) => boolean

export interface ScanOptions {
  isExcluded?: Exclusion
  /** Maximum number of entries. Each takes about 300 bytes of memory. Default: 1,000,000. */
  most?: number
  /** Called for what is neither file, directory nor link. The scan omits it. */
  onLeftOut?(path: string, kind: string): void
}

/**
 * Lists all files below a directory, each directory before its entries. Yields to other work of the program between two directories.
 * @throws UsageError beyond `most` entries
 */
export async function scanTree(
  root: string,
  { isExcluded = () => false, most = ENTRIES_MAX, onLeftOut }: ScanOptions = {},
): Promise<LocalEntry[]> {
  const entries: LocalEntry[] = []
  const enter = async (directory: string): Promise<void> => {
    // Uses blocking calls, because for thousands of files the others take several times as long.
    await setImmediate()
    const place = systemPath(join(root, directory))
    for (const found of readdirSync(place, { withFileTypes: true, encoding: 'buffer' })) {
      const name = textOfBytes(found.name)
      const path = directory === '' ? name : `${directory}/${name}`
      if (isExcluded(path, found.isDirectory())) continue
      const entry = describeLocal(root, path)
      if (entry === null) {
        const kind = specialKindOf(found)
        if (kind !== null) onLeftOut?.(path, kind)
        continue
      }
      entries.push(entry)
      if (entries.length > most) throw tooMany(root, most)
      if (entry.kind === 'directory') await enter(path)
    }
  }
  await enter('')
  return entries
}

/** Describes one path below a directory. Returns null if nothing is there, or nothing that can be copied. */
export function describeLocal(root: string, path: string): LocalEntry | null {
  const place = systemPath(join(root, path))
  const stats = lstatSync(place, { throwIfNoEntry: false })
  const kind = stats === undefined ? null : kindOf(stats)
  if (stats === undefined || kind === null) return null
  return {
    path,
    kind,
    sizeBytes: kind === 'file' ? stats.size : 0,
    mode: stats.mode & 0o7777,
    modifiedMs: Math.floor(stats.mtimeMs),
    target: kind === 'symlink' ? textOfBytes(readlinkSync(place, 'buffer')) : null,
  }
}

function tooMany(root: string, most: number): UsageError {
  const count = most.toLocaleString('en')
  return new UsageError(
    `${root} has more than ${count} files and directories, the most that one copy allows. Copy it in parts, or exclude some (sync --exclude, .boxyardignore).`,
  )
}

function kindOf(stats: Stats): LocalEntry['kind'] | null {
  if (stats.isFile()) return 'file'
  if (stats.isDirectory()) return 'directory'
  return stats.isSymbolicLink() ? 'symlink' : null
}

const ENTRIES_MAX = 1_000_000
