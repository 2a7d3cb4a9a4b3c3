import { isUtf8 } from 'node:buffer'
import type { FieldFault } from '../../../shared/errors.ts'
import { invalidRequest } from '../../../shared/validate.ts'
import type { FilePath } from '../../ports/files/files.ts'

/** A path in a request: text, or base64 of bytes that need not be UTF-8. */
export interface GivenPath {
  text: string | undefined
  base64: string | undefined
  /** JSON Pointer to the text in the request. The base64 is at `…_base64`. */
  pointer: string
}

/**
 * Returns the bytes of a path. A pure function.
 * @throws ServiceError `invalid_request` unless exactly one of the two is given, absolute and without a NUL
 */
export function pathOf({ text, base64, pointer }: GivenPath): FilePath {
  if ((text === undefined) === (base64 === undefined))
    throw fault({ pointer, detail: `requires exactly one of ${nameOf(pointer)} and ${nameOf(pointer)}_base64` })
  if (text !== undefined) return Buffer.from(text, 'utf8')
  const bytes = Buffer.from(base64 ?? '', 'base64')
  if (bytes[0] === SLASH && !bytes.includes(0)) return bytes
  throw fault({ pointer: `${pointer}_base64`, detail: 'must be base64 of an absolute path' })
}

/** Formats a path as text, with U+FFFD for invalid UTF-8, and as base64 if it is not UTF-8. */
export function formatPath(path: FilePath): { path: string; path_base64: string | null } {
  const bytes = Buffer.isBuffer(path) ? path : Buffer.from(path.buffer, path.byteOffset, path.byteLength)
  return { path: bytes.toString('utf8'), path_base64: isUtf8(bytes) ? null : bytes.toString('base64') }
}

function nameOf(pointer: string): string {
  return pointer.slice(pointer.lastIndexOf('/') + 1)
}

function fault(one: FieldFault): Error {
  return invalidRequest([one])
}

const SLASH = 0x2f
