import { isUtf8 } from 'node:buffer'

export type TarKind = 'file' | 'link' | 'symlink' | 'directory' | 'fifo' | 'character' | 'block' | 'unknown'

/** What an archive tells of an entry. Texts have one character for each byte. */
export interface TarHeader {
  kind: TarKind
  path: string
  /** What a link says, or the path of the entry that it is another name of. */
  target: string
  mode: number
  uid: number
  gid: number
  /** How many bytes of content follow, of a file. */
  sizeBytes: number
  modifiedSeconds: number
  modifiedNanoseconds: number
}

/** A kind that this side writes. */
export type WrittenHeader = TarHeader & { kind: Exclude<TarKind, 'character' | 'block' | 'unknown'> }

/**
 * A header as POSIX has it (ustar), behind an extended one (pax) for what that has no room for: long names, 8 GiB and more,
 * times before 1970. Long names that are no UTF-8, which pax takes names for, are told as GNU does. Ids are at most 2,097,151;
 * times are whole seconds. A pure function.
 */
export function encodeTarHeader(header: WrittenHeader): Buffer {
  const { path, target, sizeBytes, modifiedSeconds } = header
  const names = splitName(path)
  const block = encodeBlock(header, names ?? { prefix: '', name: path.slice(0, NAME_BYTES) })
  const front: Buffer[] = []
  const records: string[] = []
  const tell = (text: string, key: string, flag: string): void => {
    if (isText(text)) records.push(encodeRecord(key, text))
    else front.push(...encodeLong(flag, '././@LongLink', `${text}\0`))
  }
  if (names === null) tell(path, 'path', 'L')
  if (target.length > NAME_BYTES) tell(target, 'linkpath', 'K')
  if (sizeBytes > NUMBER_MAX) records.push(encodeRecord('size', String(sizeBytes)))
  if (!isTold(modifiedSeconds)) records.push(encodeRecord('mtime', String(modifiedSeconds)))
  if (records.length > 0) front.push(...encodeLong('x', 'PaxHeader', records.join('')))
  return front.length === 0 ? block : Buffer.concat([...front, block])
}

/** How many bytes `sizeBytes` of content take, filled up with zeros to whole blocks. */
export function paddedSize(sizeBytes: number): number {
  return Math.ceil(sizeBytes / BLOCK_BYTES) * BLOCK_BYTES
}

/** The sum that tells a header from other bytes. */
export function sumOfBlock(block: Uint8Array): number {
  let sum = 8 * SPACE
  for (let i = 0; i < SUM_OFFSET; i++) sum += block[i] as number
  for (let i = SUM_OFFSET + 8; i < BLOCK_BYTES; i++) sum += block[i] as number
  return sum
}

/** The two parts that ustar can keep a long name in, one without a slash between; null if it fits in no two such. */
function splitName(path: string): { prefix: string; name: string } | null {
  if (path.length <= NAME_BYTES) return { prefix: '', name: path }
  // Not the slash at the end of a directory's name.
  const cut = path.lastIndexOf('/', Math.min(PREFIX_BYTES, path.length - 2))
  if (cut <= 0 || path.length - cut - 1 > NAME_BYTES) return null
  return { prefix: path.slice(0, cut), name: path.slice(cut + 1) }
}

function encodeLong(flag: string, name: string, content: string): Buffer[] {
  const body = Buffer.alloc(paddedSize(content.length))
  body.write(content, 'latin1')
  return [encodeBlock({ ...ABOUT_NEXT, sizeBytes: content.length }, { prefix: '', name }, flag), body]
}

function isText(raw: string): boolean {
  return isUtf8(Buffer.from(raw, 'latin1'))
}

function isTold(modifiedSeconds: number): boolean {
  return modifiedSeconds >= 0 && modifiedSeconds <= NUMBER_MAX
}

// The length at its front counts its own digits too.
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
  block.write(octal(isTold(modifiedSeconds) ? modifiedSeconds : 0, 11), 136, 'latin1')
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
/** The largest number of eleven octal digits. */
const NUMBER_MAX = 8 ** 11 - 1
const FLAGS = { file: '0', link: '1', symlink: '2', directory: '5', fifo: '6' } as const
const ABOUT_NEXT: WrittenHeader = {
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
