import { BLOCK_BYTES, SUM_OFFSET, sumOfBlock, type TarHeader, type TarKind } from './headers.ts'

/** A header block as it is, before what others said of the same entry. */
export interface TarBlock extends TarHeader {
  /** The character that tells what it is. */
  flag: string
  /** Old GNU: more blocks that tell where the holes of a file are. */
  hasMore: boolean
}

/** Reads a header block; null if it is none. Numbers that cannot be read are NaN. A pure function. */
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
    hasMore: flag === 'S' && block[482] === 1,
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

/** Records of an extended header, of which those that are known here are kept. Null if it is damaged. A pure function. */
export function decodeRecords(body: Buffer): Map<string, string> | null {
  const records = new Map<string, string>()
  for (let start = 0; start < body.length; ) {
    const space = body.indexOf(SPACE, start)
    const digits = space < 0 || space - start > 10 ? '' : body.toString('latin1', start, space)
    const end = start + (/^\d+$/.test(digits) ? Number(digits) : 0)
    if (end <= space || end > body.length || body[end - 1] !== NEWLINE) return null
    const equals = body.indexOf(EQUALS, space)
    if (equals < 0 || equals >= end) return null
    const key = body.toString('latin1', space + 1, equals)
    if (KEYS.has(key)) records.set(key, decodeKept(body, equals + 1, end - 1))
    else if (key.startsWith('GNU.sparse.')) records.set(SPARSE, 'yes')
    start = end
  }
  return records
}

/** The entry of a block with what extended headers say of it; an empty record takes one of before back. A pure function. */
export function withRecords(block: TarBlock, records: ReadonlyMap<string, string>): TarHeader {
  const { flag: _flag, hasMore: _hasMore, ...header } = block
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
    path: text('path') ?? header.path,
    target: text('linkpath') ?? header.target,
    uid: number('uid', header.uid),
    gid: number('gid', header.gid),
    sizeBytes: number('size', header.sizeBytes),
    modifiedSeconds: seconds,
    modifiedNanoseconds: text('mtime') === null ? 0 : fraction(text('mtime') ?? '', modified - seconds),
  }
}

/** Bytes up to the first zero, one character each; of more than `KEPT_BYTES` as many, and a mark. */
export function decodeText(bytes: Buffer, start: number, length: number): string {
  const end = bytes.indexOf(0, start)
  return decodeKept(bytes, start, end < 0 ? start + length : Math.min(end, start + length))
}

// The mark makes a cut text longer than any that is whole, and none a number.
function decodeKept(bytes: Buffer, start: number, end: number): string {
  const kept = bytes.toString('latin1', start, Math.min(end, start + KEPT_BYTES))
  return end - start > KEPT_BYTES ? `${kept}~` : kept
}

// By its digits: as a part of a number with as many seconds in front it is no longer exact.
function fraction(text: string, rounded: number): number {
  if (text.startsWith('-')) return Math.floor(rounded * 1e9)
  const dot = text.indexOf('.')
  return dot < 0 ? 0 : Number(text.slice(dot + 1, dot + 10).padEnd(9, '0'))
}

/** Octal digits, or by the first bit a number of base 256. */
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

// Some programs of old took bytes for signed numbers.
function signedSum(block: Buffer): number {
  let sum = 0
  for (let i = 0; i < BLOCK_BYTES; i++)
    if ((block[i] as number) >= 0x80 && (i < SUM_OFFSET || i >= SUM_OFFSET + 8)) sum++
  return sumOfBlock(block) - sum * 256
}

function kindOfFlag(flag: string, path: string): TarKind {
  const kind = KINDS[flag] ?? 'unknown'
  // As it was before there was a kind for it.
  return kind === 'file' && path.endsWith('/') ? 'directory' : kind
}

/** Set for a file whose content is not what follows, but what is in it without its holes. */
export const SPARSE = 'GNU.sparse'
/** No text that is longer is held; Linux takes no name of that length. */
export const KEPT_BYTES = 4096
const SPACE = 0x20
const NEWLINE = 0x0a
const EQUALS = 0x3d
const KEYS: ReadonlySet<string> = new Set(['path', 'linkpath', 'size', 'uid', 'gid', 'mtime'])
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
}
