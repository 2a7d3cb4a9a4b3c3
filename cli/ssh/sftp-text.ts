import type { Attributes, FileEntry } from 'ssh2'
import { pathOf } from '../../sdk/typescript/src/byte-names.ts'
import type { BoxFile, FileSpace } from './box-files.ts'
import { encodeString } from './wire-types.ts'

/** The answer to a request of SFTP. */
export type SftpReply =
  | { kind: 'status'; code: number }
  | { kind: 'handle'; handle: Buffer }
  | { kind: 'data'; bytes: Uint8Array }
  | { kind: 'names'; names: FileEntry[] }
  | { kind: 'attrs'; attrs: Attributes }
  | { kind: 'space'; space: FileSpace }

/** Returns an extended answer that describes a disk as statvfs@openssh.com does (PROTOCOL of OpenSSH, section 4.4). A pure function. */
export function spacePacket(id: number, { limitBytes, usedBytes, isReadOnly }: FileSpace): Buffer {
  const blocks = Math.floor(limitBytes / BLOCK_BYTES)
  const free = Math.max(0, Math.floor((limitBytes - usedBytes) / BLOCK_BYTES))
  // Files are not counted, as statvfs(3) reports for btrfs.
  const files = [0, 0, 0]
  const numbers = [BLOCK_BYTES, BLOCK_BYTES, blocks, free, free, ...files, 0, isReadOnly ? 1 : 0, NAME_BYTES]
  const body = Buffer.alloc(5 + numbers.length * 8)
  body.writeUInt8(EXTENDED_REPLY, 0)
  body.writeUInt32BE(id, 1)
  for (const [index, value] of numbers.entries()) body.writeBigUInt64BE(BigInt(value), 5 + index * 8)
  return encodeString(body)
}

/** Returns the attributes of a file in SFTP's format. A pure function. */
export function attributesOf({ type, mode, size_bytes: size, uid, gid, modified_at: modified }: BoxFile): Attributes {
  const mtime = Math.floor(Date.parse(modified) / 1000)
  return { mode: TYPE_BITS[type] | Number.parseInt(mode, 8), size, uid, gid, atime: mtime, mtime }
}

/** Returns the entry of a file in a list, with a line like `ls -l`. A pure function. */
export function entryOf(file: BoxFile): FileEntry {
  const filename = pathOf(file)
  const { type, size_bytes: size, uid, gid, mode, modified_at: modified } = file
  const columns = [`${TYPE_LETTERS[type]}${permissionsOf(Number.parseInt(mode, 8))}`, '   1']
  const numbers = [String(uid).padEnd(8), String(gid).padEnd(8), String(size).padStart(8)]
  const [, month = 1, day = ''] = /^\d+-(\d+)-(\d+)/.exec(modified) ?? []
  const date = [MONTHS[Number(month) - 1], String(Number(day)).padStart(2), modified.slice(0, 4).padStart(5)]
  return { filename, longname: [...columns, ...numbers, ...date, filename].join(' '), attrs: attributesOf(file) }
}

/** Returns a name without attributes, for answers that consist of one. */
export function nameOf(filename: string): FileEntry {
  return { filename, longname: filename, attrs: {} as Attributes }
}

function permissionsOf(mode: number): string {
  const bits = [...'rwxrwxrwx'].map((letter, index) => ((mode & (0o400 >> index)) === 0 ? '-' : letter))
  for (const [special, index, letter] of SPECIAL_BITS) {
    if ((mode & special) !== 0) bits[index] = bits[index] === 'x' ? letter : letter.toUpperCase()
  }
  return bits.join('')
}

const EXTENDED_REPLY = 201
const BLOCK_BYTES = 4096
const NAME_BYTES = 255
const TYPE_BITS: Readonly<Record<BoxFile['type'], number>> = {
  fifo: 0o010000,
  character: 0o020000,
  directory: 0o040000,
  block: 0o060000,
  file: 0o100000,
  symlink: 0o120000,
  socket: 0o140000,
}
const TYPE_LETTERS: Readonly<Record<BoxFile['type'], string>> = {
  fifo: 'p',
  character: 'c',
  directory: 'd',
  block: 'b',
  file: '-',
  symlink: 'l',
  socket: 's',
}
/** Bits shown in place of an x: set-user-id, set-group-id, sticky. */
const SPECIAL_BITS = [
  [0o4000, 2, 's'],
  [0o2000, 5, 's'],
  [0o1000, 8, 't'],
] as const
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
