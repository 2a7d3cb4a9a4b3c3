import { ServiceError } from '../../../shared/errors.ts'

/** Bytes from `start` to `end`, which is not included. */
export interface ByteRange {
  start: number
  end: number
}

/**
 * Parses a Range header for a resource of `size` bytes. Returns one range of bytes, or null for all of them. Null if the header may be
 * ignored (RFC 9110 §14.2), because it has another unit, is malformed or names several ranges. A pure function.
 * @throws ServiceError `range_not_satisfiable`, with Content-Range
 */
export function rangeOf(header: string | null, size: number): ByteRange | null {
  const [, first = '', last = ''] = RANGE.exec(header ?? '') ?? []
  if (first === '' && last === '') return null
  if (first === '') return suffixOf(Number(last), size)
  const start = Number(first)
  if (last !== '' && Number(last) < start) return null
  if (start >= size) throw unsatisfiable(size)
  return { start, end: last === '' ? size : Math.min(Number(last) + 1, size) }
}

function suffixOf(length: number, size: number): ByteRange {
  if (length === 0 || size === 0) throw unsatisfiable(size)
  return { start: Math.max(0, size - length), end: size }
}

function unsatisfiable(size: number): ServiceError {
  return new ServiceError('range_not_satisfiable', `The file has ${size} bytes, and the range starts after its end.`, {
    headers: { 'Content-Range': `bytes */${size}` },
  })
}

const RANGE = /^bytes=(\d{0,15})-(\d{0,15})$/
