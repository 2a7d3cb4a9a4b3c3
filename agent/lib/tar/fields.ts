import type { Steps, TaskIo } from '../threads/task.ts'
import { BLOCK_BYTES, SUM_OFFSET, sumOfBlock, type TarHeader, type TarKind } from './headers.ts'

/** A decoded header block, before extended headers are applied. */
export interface TarBlock extends TarHeader {
  /** Type flag. */
  flag: string
}

/** Decodes a header block. Returns null if its checksum is wrong. Malformed numbers become NaN. Pure. */
export function decodeTarBlock(block: Buffer): TarBlock | null {
  const sum = decodeNumber(block, SUM_OFFSET, 8)
  if (sum !== sumOfBlock(block) && sum !== signedSum(block)) return null
  const isPosix = block.toString('latin1', 257, 263) === 'ustar\0'
  const prefix = isPosix ? decodeText(block, 345, 155) : ''
  const name = decodeText(block, 0, 100)
  const path = prefix === '' ? name : `${prefix}/${name}`
  const flag = String.fromCharCode(block[156] as number)
  return {
    flag,
    kind: kindOfFlag(flag, path),
    path,
    target: decodeText(block, 157, 100),
    mode: decodeNumber(block, 100, 8),
    uid: decodeNumber(block, 108, 8),
    gid: decodeNumber(block, 116, 8),
    sizeBytes: decodeNumber(block, 124, 12),
    modifiedSeconds: decodeNumber(block, 136, 12),
    modifiedNanoseconds: 0,
  }
}

/** Decodes the known records of a pax extended header. Returns null if it is damaged. */
export function* decodeRecords(
  body: Buffer,
  { mustPause }: Pick<TaskIo, 'mustPause'>,
): Steps<Map<string, string> | null> {
  const records = new Map<string, string>()
  const pieces: string[] = []
  for (let start = 0; start < body.length; ) {
    if (mustPause()) yield 'turn'
    const space = body.indexOf(SPACE, start)
    const digits = space < 0 || space - start > 10 ? '' : body.toString('latin1', start, space)
    const end = start + (/^\d+$/.test(digits) ? Number(digits) : 0)
    if (end <= space || end > body.length || body[end - 1] !== NEWLINE) return null
    const equals = body.indexOf(EQUALS, space)
    if (equals < 0 || equals >= end) return null
    const key = body.toString('latin1', space + 1, equals)
    if (KEYS.has(key)) records.set(key, decodeKept(body, equals + 1, end - 1))
    else if (key === SPARSE_MAP) records.set(key, body.toString('latin1', equals + 1, end - 1))
    else if (SPARSE_PIECE.has(key)) pieces.push(decodeKept(body, equals + 1, end - 1))
    start = end
  }
  // Version 0.0 has a record of each number. In order they are the map of version 0.1.
  if (pieces.length > 0) records.set(SPARSE_MAP, pieces.join(','))
  return records
}

/** Applies extended header records to the entry of a block. An empty record value cancels an earlier one. Pure. */
export function withRecords(block: TarBlock, records: ReadonlyMap<string, string>): TarHeader {
  const { flag: _flag, ...header } = block
  const text = (key: string): string | null => records.get(key) || null
  const number = (key: string, other: number): number => {
    const value = text(key)
    if (value === null) return other
    return /^-?\d+(\.\d*)?$/.test(value) ? Number(value) : Number.NaN
  }
  const modified = number('mtime', header.modifiedSeconds)
  const seconds = Math.floor(modified)
  return {
    ...header,
    path: text('GNU.sparse.name') ?? text('path') ?? header.path,
    target: text('linkpath') ?? header.target,
    uid: number('uid', header.uid),
    gid: number('gid', header.gid),
    sizeBytes: number('size', header.sizeBytes),
    modifiedSeconds: seconds,
    modifiedNanoseconds: text('mtime') === null ? 0 : fraction(text('mtime') ?? '', modified - seconds),
  }
}

/** Returns true for a record about the holes of one file. Pure. */
export function isOfSparseFile(key: string): boolean {
  return key.startsWith('GNU.sparse')
}

/** Decodes bytes up to the first zero, one character each. Truncates at `KEPT_BYTES` and appends `~`. */
export function decodeText(bytes: Buffer, start: number, length: number): string {
  const end = bytes.indexOf(0, start)
  return decodeKept(bytes, start, end < 0 ? start + length : Math.min(end, start + length))
}

// The appended `~` makes truncated text longer than any whole one, and never a number.
function decodeKept(bytes: Buffer, start: number, end: number): string {
  const kept = bytes.toString('latin1', start, Math.min(end, start + KEPT_BYTES))
  return end - start > KEPT_BYTES ? `${kept}~` : kept
}

// Uses the digits, because a double that also holds the seconds cannot represent the nanoseconds exactly.
function fraction(text: string, rounded: number): number {
  if (text.startsWith('-')) return Math.floor(rounded * 1e9)
  const dot = text.indexOf('.')
  return dot < 0 ? 0 : Number(text.slice(dot + 1, dot + 10).padEnd(9, '0'))
}

/** Decodes octal digits, or base 256 if the first bit is set. */
function decodeNumber(block: Buffer, start: number, length: number): number {
  const first = block[start] as number
  if ((first & 0x80) !== 0) {
    let value = (first & 0x40) !== 0 ? first - 0x100 : first & 0x3f
    for (let i = start + 1; i < start + length; i++) value = value * 256 + (block[i] as number)
    return value
  }
  const text = decodeText(block, start, length).trim()
  if (text === '') return 0
  return /^[0-7]+$/.test(text) ? Number.parseInt(text, 8) : Number.NaN
}

// Some old programs sum signed bytes.
function signedSum(block: Buffer): number {
  let sum = 0
  for (let i = 0; i < BLOCK_BYTES; i++)
    if ((block[i] as number) >= 0x80 && (i < SUM_OFFSET || i >= SUM_OFFSET + 8)) sum++
  return sumOfBlock(block) - sum * 256
}

function kindOfFlag(flag: string, path: string): TarKind {
  const kind = KINDS[flag] ?? 'unknown'
  // Old archives mark a directory by a trailing slash only.
  return kind === 'file' && path.endsWith('/') ? 'directory' : kind
}

/** The map of a sparse file in one record, as GNU tar writes it in version 0.1. */
export const SPARSE_MAP = 'GNU.sparse.map'
/** Longest text kept, in bytes. Linux accepts no longer path. */
export const KEPT_BYTES = 4096
const SPACE = 0x20
const NEWLINE = 0x0a
const EQUALS = 0x3d
const KEYS: ReadonlySet<string> = new Set([
  ...['path', 'linkpath', 'size', 'uid', 'gid', 'mtime'],
  ...['GNU.sparse.major', 'GNU.sparse.minor', 'GNU.sparse.name', 'GNU.sparse.realsize', 'GNU.sparse.size'],
])
/** The records of a piece of data in version 0.0: offset and length, in turn. */
const SPARSE_PIECE: ReadonlySet<string> = new Set(['GNU.sparse.offset', 'GNU.sparse.numbytes'])
const KINDS: Readonly<Record<string, TarKind>> = {
  '\0': 'file',
  '0': 'file',
  '1': 'link',
  '2': 'symlink',
  '3': 'character',
  '4': 'block',
  '5': 'directory',
  '6': 'fifo',
  '7': 'file',
  S: 'file',
}
