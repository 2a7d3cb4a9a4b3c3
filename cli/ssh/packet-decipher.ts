import { type CipherGCMTypes, createDecipheriv, createSecretKey, type DecipherGCM } from 'node:crypto'

/** Interface that ssh2 expects of a packet decipher. */
export interface PacketDecipher {
  inSeqno: number
  /** Consumes each payload. ssh2 sets it again for each key exchange. */
  _onPayload(payload: Buffer): boolean | number | undefined
  /** Reads `data` from `at` on, and returns where it stopped if not at the end. @throws Error for an invalid packet */
  decrypt(data: Buffer, at: number, end: number): number | undefined
  free(): void
}

/** The fields of `AESGCMDecipherNative` of ssh2 1.17 that this takes over. */
export interface SlowDecipher extends PacketDecipher {
  _decipherSSLName: CipherGCMTypes
  _decipherKey: Buffer
  _decipherIV: Buffer
  /** Bytes read of the length of the next packet. */
  _lenBytes: number
}

/** Returns whether this is such a decipher, between two packets. */
export function isSlowDecipher(decipher: object | undefined): decipher is SlowDecipher {
  const {
    _decipherKey: key,
    _decipherIV: nonce,
    _decipherSSLName: name = '',
  } = (decipher ?? {}) as Partial<SlowDecipher>
  const { _lenBytes: read } = (decipher ?? {}) as Partial<SlowDecipher>
  return Buffer.isBuffer(key) && Buffer.isBuffer(nonce) && name.endsWith('-gcm') && read === 0
}

/**
 * Decrypts packets in place of ssh2's `AESGCMDecipherNative` (RFC 5647 as OpenSSH implements it). ssh2 accepts at most 35,000 bytes, and a
 * command is one packet. This accepts what OpenSSH sends.
 */
export function createPacketDecipher(slow: SlowDecipher): PacketDecipher {
  const key = createSecretKey(slow._decipherKey)
  const nonce = slow._decipherIV
  const length = Buffer.alloc(LENGTH_BYTES)
  const tag = Buffer.alloc(TAG_BYTES)
  /** Bytes read of all parts of the packet. */
  let read = 0
  /** Bytes between the length and the tag. 0 until the length is known. */
  let bytes = 0
  let plain: Buffer = NO_BYTES
  let gcm: DecipherGCM | null = null

  const begin = (): void => {
    bytes = length.readUInt32BE()
    if (bytes < BLOCK_BYTES || bytes > PACKET_BYTES_MAX || bytes % BLOCK_BYTES !== 0)
      throw new Error(`An SSH packet has ${bytes} bytes. The limit is ${PACKET_BYTES_MAX}.`)
    gcm = createDecipheriv(slow._decipherSSLName, key, nonce)
    gcm.setAAD(length)
  }
  /** Takes the next part of the packet from `data`, and returns how many bytes it took. */
  const take = (data: Buffer): number => {
    const body = read - LENGTH_BYTES
    if (body < 0) return copy(data, length, read)
    if (body >= bytes || gcm === null) return copy(data, tag, body - bytes)
    const taken = data.subarray(0, bytes - body)
    const opened = gcm.update(taken)
    // Most packets arrive whole, and are not copied.
    if (taken.length === bytes) plain = opened
    else {
      if (body === 0) plain = Buffer.allocUnsafe(bytes)
      plain.set(opened, body)
    }
    return taken.length
  }
  const finish = (): Buffer => {
    gcm?.setAuthTag(tag)
    gcm?.final()
    const payload = plain.subarray(1, plain.length - (plain[0] ?? 0))
    nonce.writeBigUInt64BE(BigInt.asUintN(64, nonce.readBigUInt64BE(COUNTER_AT) + 1n), COUNTER_AT)
    decipher.inSeqno = (decipher.inSeqno + 1) >>> 0
    read = bytes = 0
    gcm = null
    return payload
  }
  const decipher: PacketDecipher = {
    inSeqno: slow.inSeqno,
    _onPayload: slow._onPayload,
    free: () => undefined,
    decrypt: (data, start, end) => {
      let at = start
      while (at < end) {
        const taken = take(data.subarray(at, end))
        at += taken
        read += taken
        if (read === LENGTH_BYTES) begin()
        if (bytes === 0 || read < LENGTH_BYTES + bytes + TAG_BYTES) continue
        const answer = decipher._onPayload(finish())
        if (answer !== undefined) return typeof answer === 'number' ? answer : at
      }
      return undefined
    },
  }
  return decipher
}

/** Copies the available bytes of a part from `data`, starting at `at`, and returns their number. */
function copy(data: Buffer, part: Buffer, at: number): number {
  return data.copy(part, at)
}

const LENGTH_BYTES = 4
const BLOCK_BYTES = 16
const TAG_BYTES = 16
/** Position of the packet counter in the nonce. */
const COUNTER_AT = 4
/** The same as PACKET_MAX_SIZE of OpenSSH. */
const PACKET_BYTES_MAX = 256 * 1024
const NO_BYTES = Buffer.alloc(0)
