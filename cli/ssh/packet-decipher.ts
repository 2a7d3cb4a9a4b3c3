import { type CipherGCMTypes, createDecipheriv, createSecretKey, type DecipherGCM } from 'node:crypto'

/** What ssh2 asks of a decipher of packets. */
export interface PacketDecipher {
  inSeqno: number
  /** What takes each payload; ssh2 sets it anew for each key exchange. */
  _onPayload(payload: Buffer): boolean | number | undefined
  /** Reads `data` from `at` on, and returns where it stopped if not at the end. @throws Error for a packet that is none */
  decrypt(data: Buffer, at: number, end: number): number | undefined
  free(): void
}

/** The fields of `AESGCMDecipherNative` of ssh2 1.17 that are taken over. */
export interface SlowDecipher extends PacketDecipher {
  _decipherSSLName: CipherGCMTypes
  _decipherKey: Buffer
  _decipherIV: Buffer
  /** Bytes of the length of the next packet that were read. */
  _lenBytes: number
}

/** Whether this is such a decipher, between two packets. */
export function isSlowDecipher(decipher: object | undefined): decipher is SlowDecipher {
  const { _decipherKey: key, _decipherIV: nonce, _decipherSSLName: name = '' } = (decipher ?? {}) as Partial<SlowDecipher>
  const { _lenBytes: read } = (decipher ?? {}) as Partial<SlowDecipher>
  return Buffer.isBuffer(key) && Buffer.isBuffer(nonce) && name.endsWith('-gcm') && read === 0
}

/**
 * Decrypts packets in the place of ssh2's `AESGCMDecipherNative` (RFC 5647 as OpenSSH has it). ssh2 takes 35,000 bytes at most, and a
 * command is one packet: this takes what OpenSSH sends.
 */
export function createPacketDecipher(slow: SlowDecipher): PacketDecipher {
  const key = createSecretKey(slow._decipherKey)
  const nonce = slow._decipherIV
  const length = Buffer.alloc(LENGTH_BYTES)
  const tag = Buffer.alloc(TAG_BYTES)
  let read = 0
  let packet = NO_BYTES
  let gcm: DecipherGCM | null = null

  const begin = (): void => {
    const bytes = length.readUInt32BE()
    if (bytes < BLOCK_BYTES || bytes > PACKET_BYTES_MAX || bytes % BLOCK_BYTES !== 0)
      throw new Error(`A packet of SSH has ${bytes} bytes; at most ${PACKET_BYTES_MAX} are taken.`)
    packet = Buffer.allocUnsafeSlow(bytes)
    gcm = createDecipheriv(slow._decipherSSLName, key, nonce)
    gcm.setAAD(length)
  }
  /** Takes what `data` has of the next part of the packet, and returns how many bytes that was. */
  const take = (data: Buffer): number => {
    const parts: readonly [Buffer, number][] = [
      [length, 0],
      [packet, LENGTH_BYTES],
      [tag, LENGTH_BYTES + packet.length],
    ]
    const [part, from] = parts.find(([bytes, start]) => read < start + bytes.length) ?? parts[0]!
    const taken = data.subarray(0, from + part.length - read)
    const plain = part === packet && gcm !== null ? gcm.update(taken) : taken
    part.set(plain, read - from)
    read += taken.length
    return taken.length
  }
  const finish = (): Buffer => {
    gcm?.setAuthTag(tag)
    gcm?.final()
    const [padding = 0] = packet
    const payload = packet.subarray(1, packet.length - padding)
    nonce.writeBigUInt64BE(BigInt.asUintN(64, nonce.readBigUInt64BE(COUNTER_AT) + 1n), COUNTER_AT)
    decipher.inSeqno = (decipher.inSeqno + 1) >>> 0
    read = 0
    packet = NO_BYTES
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
        at += take(data.subarray(at, end))
        if (read === LENGTH_BYTES && gcm === null) begin()
        if (gcm === null || read < LENGTH_BYTES + packet.length + TAG_BYTES) continue
        const answer = decipher._onPayload(finish())
        if (answer !== undefined) return answer === false ? at : (answer as number)
      }
      return undefined
    },
  }
  return decipher
}

const LENGTH_BYTES = 4
const BLOCK_BYTES = 16
const TAG_BYTES = 16
/** Where the nonce counts packets. */
const COUNTER_AT = 4
/** As PACKET_MAX_SIZE of OpenSSH. */
const PACKET_BYTES_MAX = 256 * 1024
const NO_BYTES = Buffer.alloc(0)
