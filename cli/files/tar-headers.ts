import { bytesOfText } from '../../sdk/typescript/src/byte-names.ts'
import type { LocalEntry } from './local-tree.ts'

/** Owner and group, as numbers of the box. */
export interface Owner {
  uid: number
  gid: number
}

/** The fields of an entry's header. */
export interface TarFacts extends Owner, Pick<LocalEntry, 'kind' | 'mode' | 'modifiedMs' | 'target'> {
  /** Ends in a slash for a directory. `textOfBytes` decodes bytes that are not UTF-8. */
  name: string
  sizeBytes: number
  /** Further records of its pax header. */
  records?: Readonly<Record<string, string>>
}

/**
 * Encodes the header of an entry, with its time to the millisecond. Keeps a name of any bytes. A name over 100 bytes becomes a GNU long
 * name, which unlike pax need not be UTF-8. A pure function.
 */
export function encodeHeader(facts: TarFacts): Buffer {
  const { name, target, modifiedMs, sizeBytes } = facts
  const [nameBytes, targetBytes] = [bytesOfText(name), bytesOfText(target ?? '')]
  const records = { mtime: (modifiedMs / 1000).toFixed(3), ...facts.records }
  return Buffer.concat([
    ...(nameBytes.length > NAME_BYTES ? longName('L', nameBytes) : []),
    ...(targetBytes.length > NAME_BYTES ? longName('K', targetBytes) : []),
    ...extension('x', encodeRecords(sizeBytes > SIZE_MAX ? { ...records, size: String(sizeBytes) } : records)),
    encodeBlock({ ...facts, flag: FLAGS[facts.kind], nameBytes, targetBytes }),
  ])
}

/** Returns the zeros that fill the last block of a content. A pure function. */
export function paddingOf(sizeBytes: number): Buffer {
  return Buffer.alloc((BLOCK_BYTES - (sizeBytes % BLOCK_BYTES)) % BLOCK_BYTES)
}

function longName(flag: 'L' | 'K', bytes: Uint8Array): Buffer[] {
  return extension(flag, Buffer.concat([bytes, Buffer.alloc(1)]))
}

/** An entry that describes the next one. */
function extension(flag: 'L' | 'K' | 'x', content: Buffer): Buffer[] {
  const facts = { mode: 0o644, uid: 0, gid: 0, modifiedMs: 0, sizeBytes: content.length }
  const names = { nameBytes: Buffer.from('././@LongLink'), targetBytes: Buffer.alloc(0) }
  return [encodeBlock({ ...facts, ...names, flag }), content, paddingOf(content.length)]
}

function encodeRecords(records: Readonly<Record<string, string>>): Buffer {
  return Buffer.concat(
    Object.entries(records).map(([key, value]) => {
      const rest = Buffer.concat([Buffer.from(` ${key}=`), bytesOfText(value), Buffer.from('\n')])
      // The length counts its own digits.
      let length = rest.length + 1
      while (length !== rest.length + String(length).length) length++
      return Buffer.concat([Buffer.from(String(length)), rest])
    }),
  )
}

interface BlockFacts extends Owner, Pick<TarFacts, 'mode' | 'modifiedMs' | 'sizeBytes'> {
  flag: string
  nameBytes: Uint8Array
  targetBytes: Uint8Array
}

function encodeBlock({ mode, uid, gid, sizeBytes, modifiedMs, flag, nameBytes, targetBytes }: BlockFacts): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES)
  const number = (value: number, at: number, digits: number): void =>
    void block.write(value.toString(8).padStart(digits, '0'), at, 'latin1')
  block.set(nameBytes.subarray(0, NAME_BYTES), 0)
  number(mode & 0o7777, 100, 7)
  number(uid, 108, 7)
  number(gid, 116, 7)
  number(sizeBytes > SIZE_MAX ? 0 : sizeBytes, 124, 11)
  number(Math.max(0, Math.floor(modifiedMs / 1000)), 136, 11)
  block.write(flag, 156, 'latin1')
  block.set(targetBytes.subarray(0, NAME_BYTES), 157)
  block.write('ustar\x0000', 257, 'latin1')
  // The checksum counts its own field as spaces.
  block.fill(' ', 148, 156)
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return block
}

const BLOCK_BYTES = 512
const NAME_BYTES = 100
/** The largest number of eleven octal digits. */
const SIZE_MAX = 8 ** 11 - 1
const FLAGS: Readonly<Record<LocalEntry['kind'], string>> = { file: '0', symlink: '2', directory: '5' }
