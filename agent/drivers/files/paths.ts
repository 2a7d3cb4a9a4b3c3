import { ServiceError } from '../../../shared/errors.ts'
import { refusal } from '../../../shared/refusals.ts'

/** A path or name in a box as latin1, one character per byte. Code can cut and compare it without changing its bytes. */
export type RawPath = string

/** Checks and converts a client's path. Throws `path_invalid` unless it is absolute, without zero bytes and short enough. */
export function rawPathOf(path: Uint8Array): RawPath {
  const raw = rawOf(path)
  if (!raw.startsWith('/')) throw pathInvalid(raw, 'it must begin with a slash')
  if (raw.includes('\0')) throw pathInvalid(raw, 'it must not have a zero byte')
  if (raw.length > PATH_MAX) throw pathInvalid(raw.slice(0, 100), `it is longer than ${PATH_MAX} bytes`)
  return raw
}

/** Converts bytes to their raw form. */
export function rawOf(bytes: Uint8Array): RawPath {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
}

/** Converts a raw path to text for a client. */
export function showPath(raw: RawPath): string {
  return Buffer.from(raw, 'latin1').toString('utf8')
}

/** A path split into the directory and the last name. */
export interface SplitPath {
  parent: RawPath
  /** Neither empty nor `.` or `..`. */
  name: RawPath
  /** The path ended with a slash, which is valid for a directory only. */
  isDirectory: boolean
}

/** Splits a path. Null for the root and for paths that end with `.` or `..`, which have no last name. */
export function splitPath(raw: RawPath): SplitPath | null {
  const trimmed = raw.replace(/\/+$/, '')
  const cut = trimmed.lastIndexOf('/')
  const name = trimmed.slice(cut + 1)
  if (name === '' || name === '.' || name === '..') return null
  return { parent: trimmed.slice(0, cut) || '/', name, isDirectory: trimmed !== raw }
}

/** Creates a `path_invalid` error. `why` ends its sentence. */
export function pathInvalid(raw: RawPath, why: string, cause?: unknown): ServiceError {
  return new ServiceError('path_invalid', `${showPath(raw)}: ${why}.`, { cause })
}

export function isADirectory(raw: RawPath): ServiceError {
  return refusal('is_a_directory', [
    `${showPath(raw)}: it is a directory.`,
    'Name a file in it, or use the archive of the directory.',
  ])
}

/** As in Linux, without the terminating zero. */
const PATH_MAX = 4095
