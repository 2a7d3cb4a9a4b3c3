import type { Attributes, FileEntry, SFTPWrapper } from 'ssh2'
import { bytesOfText, isText, textOfBytes } from '../../sdk/typescript/src/byte-names.ts'
import { encodeNumber, encodeString } from './wire-types.ts'

/** The private sending part of ssh2's SFTP, of lib/protocol/SFTP.js in its version 1.17. */
export interface SftpInside {
  _protocol: { exitStatus(channel: number, code: number): void; channelData(channel: number, bytes: Buffer): void }
  outgoing: { id: number; state: string; window: number; packetSize: number }
  /** Packets that wait until the client's window opens. */
  _buffer: Buffer[]
  _waitWindow: boolean
  /** Called once the window has space. */
  _chunkcb: (() => void) | undefined
}

/**
 * Makes the names from a client arrive as `textOfBytes` decodes them. ssh2 reads each string of a packet with `utf8Slice` of its buffer.
 * That turns different names into one.
 */
export function readNamesAsBytes(sftp: SFTPWrapper): void {
  let packet: Buffer | undefined
  Object.defineProperty(sftp, '_pkt', {
    get: () => packet,
    set: (bytes: Buffer | undefined) => {
      packet = bytes
      if (bytes === undefined) return
      Object.defineProperty(bytes, 'utf8Slice', {
        configurable: true,
        value: (start: number, end: number) => textOfBytes(bytes.subarray(start, end)),
      })
    },
  })
}

/** Answers with names, which need not be UTF-8. ssh2 would replace such bytes. */
export function sendNames(sftp: SFTPWrapper, id: number, names: FileEntry[]): void {
  if (names.every(({ filename, longname }) => isText(filename) && isText(longname))) return void sftp.name(id, names)
  sendPacket(sftp, namesPacket(id, names))
}

/** Sends an answer that ssh2 has no call for, after the waiting ones. A packet begins with its length. */
export function sendPacket(sftp: SFTPWrapper, packet: Buffer): void {
  const inside = sftp as unknown as SftpInside
  inside._buffer.push(packet)
  if (inside._buffer.length === 1) drain(inside)
}

function namesPacket(id: number, names: readonly FileEntry[]): Buffer {
  const entries = names.flatMap(({ filename, longname, attrs }) => {
    return [encodeString(bytesOfText(filename)), encodeString(bytesOfText(longname)), attributeBytes(attrs)]
  })
  const body = Buffer.concat([Buffer.of(NAME), encodeNumber(id), encodeNumber(names.length), ...entries])
  return encodeString(body)
}

function attributeBytes(attrs: Partial<Attributes>): Buffer {
  const { mode, size = 0, uid = 0, gid = 0, atime = 0, mtime = 0 } = attrs
  if (mode === undefined) return encodeNumber(0)
  const numbers = [uid, gid, mode, atime, mtime].map((value) => encodeNumber(value >>> 0))
  const length = Buffer.alloc(8)
  length.writeBigUInt64BE(BigInt(size))
  return Buffer.concat([encodeNumber(ALL_ATTRIBUTES), length, ...numbers])
}

/** Sends the waiting packets that fit into the client's window, and the rest as soon as it opens. */
function drain(inside: SftpInside): void {
  const { outgoing } = inside
  inside._chunkcb = undefined
  for (let packet = inside._buffer[0]; packet !== undefined; packet = inside._buffer[0]) {
    if (outgoing.state !== 'open') return
    const count = Math.min(packet.length, outgoing.window, outgoing.packetSize)
    if (count === 0) {
      inside._waitWindow = true
      inside._chunkcb = () => drain(inside)
      return
    }
    outgoing.window -= count
    inside._protocol.channelData(outgoing.id, packet.subarray(0, count))
    if (count < packet.length) inside._buffer[0] = packet.subarray(count)
    else inside._buffer.shift()
  }
}

/** The answer with names, and its flags for size, owners, mode and times (draft-ietf-secsh-filexfer-02). */
const NAME = 104
const ALL_ATTRIBUTES = 0x0f
