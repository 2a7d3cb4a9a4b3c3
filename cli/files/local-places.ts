import { lstatSync, realpathSync, type Stats, statSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import type { CopySource, CopyTarget } from './copy-places.ts'

/** Something of this machine that is copied. */
export interface LocalSource extends CopySource {
  path: string
  /** Null for what reports no length, such as a pipe, and what is no file. */
  sizeBytes: number | null
}

/**
 * Describes a source of this machine. A link is a link, unless `follows`, a slash at its end or a path of `/dev` or `/proc` asks for
 * what it leads to. @throws Error of the system where nothing is
 */
export function localSourceOf(path: string, follows: boolean): LocalSource {
  const stats = follows || isOpenDescriptor(path) ? statSync(path) : lstatSync(path)
  return {
    path,
    kind: kindOf(stats),
    name: basename(resolve(path)),
    isContents: /(^|[/\\])\.$/.test(path) || resolve(path) === resolve('/'),
    sizeBytes: stats.isFile() ? stats.size : null,
  }
}

/** Describes where something of a box is copied to. @throws Error for a link to nothing with a slash at its end */
export function localTargetOf(path: string): CopyTarget {
  const bare = path.replace(/(?<=.)\/+$/, '')
  const endsInSlash = bare !== path || path === '/'
  const stats = statSync(bare, { throwIfNoEntry: false })
  if (stats === undefined && endsInSlash && lstatSync(bare, { throwIfNoEntry: false }) !== undefined)
    throw new Error(`${bare} is a link that leads nowhere.`)
  const kind = stats === undefined ? null : stats.isDirectory() ? 'directory' : 'other'
  // Without the slash a link is replaced by what is in a directory: an earlier copy may have brought it.
  return { path: endsInSlash && kind === 'directory' ? realpathSync(bare) : bare, kind, endsInSlash }
}

/** Whether a path is a descriptor that this process has, such as `/dev/stdout`: it may be a link to a file that the shell opened. */
export function isOpenDescriptor(path: string): boolean {
  return /^\/(dev|proc)\//.test(resolve(path))
}

function kindOf(stats: Stats): CopySource['kind'] {
  if (stats.isDirectory()) return 'directory'
  return stats.isSymbolicLink() ? 'symlink' : 'file'
}
