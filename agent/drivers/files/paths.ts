import { ServiceError } from '../../../shared/errors.ts'

/** A path or name in a box as its bytes, one character each: so it can be cut and compared, and stays what it is. */
export type RawPath = string

/** The raw form of what a client gave. Throws `path_invalid` for what is no absolute path. */
export function rawPathOf(path: Uint8Array): RawPath {
  const raw = rawOf(path)
  if (!raw.startsWith('/')) throw pathInvalid(raw, 'it must begin with a slash')
  if (raw.includes('\0')) throw pathInvalid(raw, 'it must not have a zero byte')
  if (raw.length > PATH_MAX) throw pathInvalid(raw.slice(0, 100), `it is longer than ${PATH_MAX} bytes`)
  return raw
}

/** The raw form of any bytes. */
export function rawOf(bytes: Uint8Array): RawPath {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
}

/** The bytes of a path as a system call takes them, ending with a zero. */
export function rawBytesOf(raw: RawPath): Buffer {
  return Buffer.from(`${raw}\0`, 'latin1')
}

/** A path as a client reads it. */
export function showPath(raw: RawPath): string {
  return Buffer.from(raw, 'latin1').toString('utf8')
}

/** A path as the directory that its last name is in, and that name. */
export interface SplitPath {
  parent: RawPath
  /** Neither empty nor `.` or `..`. */
  name: RawPath
  /** It ended with a slash, which only a directory may. */
  isDirectory: boolean
}

/** Null for the root, and for what ends with `.` or `..`: these are no names of their own. */
export function splitPath(raw: RawPath): SplitPath | null {
  const trimmed = raw.replace(/\/+$/, '')
  const cut = trimmed.lastIndexOf('/')
  const name = trimmed.slice(cut + 1)
  if (name === '' || name === '.' || name === '..') return null
  return { parent: trimmed.slice(0, cut) || '/', name, isDirectory: trimmed !== raw }
}

/** `path_invalid`, with the reason as the end of a sentence. */
export function pathInvalid(raw: RawPath, why: string, cause?: unknown): ServiceError {
  return new ServiceError('path_invalid', `${showPath(raw)}: ${why}.`, { cause })
}

export function isADirectory(raw: RawPath): ServiceError {
  return new ServiceError('is_a_directory', `${showPath(raw)}: it is a directory.`)
}

/** With the zero at its end, as Linux has it. */
const PATH_MAX = 4095
