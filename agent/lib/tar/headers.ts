import { isUtf8 } from 'node:buffer'

export type TarKind = 'file' | 'link' | 'symlink' | 'directory' | 'fifo' | 'character' | 'block' | 'unknown'

/** Metadata of an archive entry. Strings have one character per byte (latin1). */
export interface TarHeader {
  kind: TarKind
  path: string
  /** Target of a symlink, or path of the entry that a hard link refers to. */
  target: string
  mode: number
  uid: number
  gid: number
  /** Size of a file's content that follows. */
  sizeBytes: number
  modifiedSeconds: number
  modifiedNanoseconds: number
}

/** A header of a kind that the encoder writes. */
export type WrittenHeader = TarHeader & {
  kind: Exclude<TarKind, 'character' | 'block' | 'unknown'>
  /** Further records of its pax header. */
  records?: Readonly<Record<string, string>>
}

/**
 * Encodes a POSIX header (ustar). A pax extended header precedes it for values that do not fit, such as long names, 8 GiB and more, and
 * times before 1970. Long names that are not UTF-8, which pax requires, become GNU long names. Ids are at most 2,097,151. Times are whole
 * seconds. Pure.
 */
export function encodeTarHeader(header: WrittenHeader): Buffer {
  const { path, target, sizeBytes, modifiedSeconds } = header
  const names = splitName(path)
  const block = encodeBlock(header, names ?? { prefix: '', name: path.slice(0, NAME_BYTES) })
  const front: Buffer[] = []
  const records = Object.entries(header.records ?? {}).map(([key, value]) => encodeRecord(key, value))
  const addLong = (text: string, key: string, flag: string): void => {
    if (isText(text)) records.push(encodeRecord(key, text))
    else front.push(...encodeLong(flag, '././@LongLink', `${text}\0`))
  }
  if (names === null) addLong(path, 'path', 'L')
  if (target.length > NAME_BYTES) addLong(target, 'linkpath', 'K')
  if (sizeBytes > NUMBER_MAX) records.push(encodeRecord('size', String(sizeBytes)))
  if (!fitsOctal(modifiedSeconds)) records.push(encodeRecord('mtime', String(modifiedSeconds)))
  if (records.length > 0) front.push(...encodeLong('x', 'PaxHeader', records.join('')))
  return front.length === 0 ? block : Buffer.concat([...front, block])
}

/** Returns `sizeBytes` rounded up to whole blocks. */
export function paddedSize(sizeBytes: number): number {
  return Math.ceil(sizeBytes / BLOCK_BYTES) * BLOCK_BYTES
}

/** Returns the header checksum: the sum of all bytes, with its own field as spaces. */
export function sumOfBlock(block: Uint8Array): number {
  let sum = 8 * SPACE
  for (let i = 0; i < SUM_OFFSET; i++) sum += block[i] as number
  for (let i = SUM_OFFSET + 8; i < BLOCK_BYTES; i++) sum += block[i] as number
  return sum
}

/** Splits a long path at a slash into ustar's prefix and name fields. Returns null if it does not fit. */
function splitName(path: string): { prefix: string; name: string } | null {
  if (path.length <= NAME_BYTES) return { prefix: '', name: path }
  // Skips the trailing slash of a directory.
  const cut = path.lastIndexOf('/', Math.min(PREFIX_BYTES, path.length - 2))
  if (cut <= 0 || path.length - cut - 1 > NAME_BYTES) return null
  return { prefix: path.slice(0, cut), name: path.slice(cut + 1) }
}

function encodeLong(flag: string, name: string, content: string): Buffer[] {
  const body = Buffer.alloc(paddedSize(content.length))
  body.write(content, 'latin1')
  return [encodeBlock({ ...METADATA_HEADER, sizeBytes: content.length }, { prefix: '', name }, flag), body]
}

function isText(raw: string): boolean {
  return isUtf8(Buffer.from(raw, 'latin1'))
}

function fitsOctal(modifiedSeconds: number): boolean {
  return modifiedSeconds >= 0 && modifiedSeconds <= NUMBER_MAX
}

// The leading length includes its own digits.
function encodeRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`
  let length = rest.length + 1
  while (length !== rest.length + String(length).length) length++
  return `${length}${rest}`
}

function encodeBlock(
  header: WrittenHeader,
  names: { prefix: string; name: string },
  flag: string = FLAGS[header.kind],
): Buffer {
  const { mode, uid, gid, sizeBytes, modifiedSeconds, target } = header
  const block = Buffer.alloc(BLOCK_BYTES)
  block.write(names.name, 0, 'latin1')
  block.write(octal(mode, 7), 100, 'latin1')
  block.write(octal(uid, 7), 108, 'latin1')
  block.write(octal(gid, 7), 116, 'latin1')
  block.write(octal(sizeBytes > NUMBER_MAX ? 0 : sizeBytes, 11), 124, 'latin1')
  block.write(octal(fitsOctal(modifiedSeconds) ? modifiedSeconds : 0, 11), 136, 'latin1')
  block.write(flag, 156, 'latin1')
  if (target !== '') block.write(target.slice(0, NAME_BYTES), 157, 'latin1')
  block.write('ustar\x0000', 257, 'latin1')
  if (names.prefix !== '') block.write(names.prefix, 345, 'latin1')
  block.write(`${octal(sumOfBlock(block), 6)}\0 `, SUM_OFFSET, 'latin1')
  return block
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0')
}

export const BLOCK_BYTES = 512
export const SUM_OFFSET = 148
const SPACE = 0x20
const NAME_BYTES = 100
const PREFIX_BYTES = 155
/** Largest number of eleven octal digits. */
const NUMBER_MAX = 8 ** 11 - 1
const FLAGS = { file: '0', link: '1', symlink: '2', directory: '5', fifo: '6' } as const
const METADATA_HEADER: WrittenHeader = {
  kind: 'file',
  path: '',
  target: '',
  mode: 0o644,
  uid: 0,
  gid: 0,
  sizeBytes: 0,
  modifiedSeconds: 0,
  modifiedNanoseconds: 0,
}
