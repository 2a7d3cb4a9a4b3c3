import { lstatSync, realpathSync, type Stats, statSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { bytesOfText, isText } from '../../sdk/typescript/src/byte-names.ts'
import type { CopySource, CopyTarget } from './copy-places.ts'
import { pipeDescriptorOf } from './local-input.ts'
import { specialKindOf } from './special-files.ts'

/** A local source of a copy. */
export interface LocalSource extends CopySource {
  path: string
  /** Null for a source that reports no length, such as a pipe, and for special files. */
  sizeBytes: number | null
  /** Kind of a FIFO, socket or device, which copies leave out. Null for a pipe of the shell, and for anything else. */
  special: string | null
}

/**
 * Describes a local source. Follows a link if `follows` is set, if the path ends with a slash, or below `/dev` and `/proc`.
 * @throws Error of the system if there is no such file
 */
export function localSourceOf(path: string, follows: boolean): LocalSource {
  const stats = follows || isOpenDescriptor(path) ? statSync(path) : lstatSync(path)
  return {
    path,
    kind: kindOf(stats),
    name: basename(resolve(path)),
    isContents: /(^|[/\\])\.$/.test(path) || resolve(path) === resolve('/'),
    sizeBytes: stats.isFile() ? stats.size : null,
    special: pipeDescriptorOf(path) === null ? specialKindOf(stats) : null,
  }
}

/** Describes the local destination of a copy from a box. @throws Error for a link to nothing with a slash at its end */
export function localTargetOf(path: string): CopyTarget {
  const bare = path.replace(/(?<=.)\/+$/, '')
  const endsInSlash = bare !== path || path === '/'
  const stats = statSync(bare, { throwIfNoEntry: false })
  if (stats === undefined && endsInSlash && lstatSync(bare, { throwIfNoEntry: false }) !== undefined)
    throw new Error(`${bare} is a link to a missing file.`)
  const kind = stats === undefined ? null : stats.isDirectory() ? 'directory' : 'other'
  // Without the slash, a copied directory replaces a link, because an earlier copy may have brought that link.
  return { path: endsInSlash && kind === 'directory' ? realpathSync(bare) : bare, kind, endsInSlash }
}

/** Returns a path for a system call. Converts a result of `textOfBytes` that is not UTF-8 back to its bytes. A pure function. */
export function systemPath(path: string): string | Buffer {
  return isText(path) ? path : Buffer.from(bytesOfText(path))
}

/** Returns whether a path is a descriptor of this process, such as `/dev/stdout`, which can be a link to a file that the shell opened. */
export function isOpenDescriptor(path: string): boolean {
  return /^\/(dev|proc)\//.test(resolve(path))
}

function kindOf(stats: Stats): CopySource['kind'] {
  if (stats.isDirectory()) return 'directory'
  return stats.isSymbolicLink() ? 'symlink' : 'file'
}
