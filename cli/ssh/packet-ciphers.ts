import { type CipherGCMTypes, createCipheriv, createSecretKey, randomFillSync } from 'node:crypto'
import type { Writable } from 'node:stream'
import type { Connection } from 'ssh2'
import { createPacketDecipher, isSlowDecipher, type PacketDecipher } from './packet-decipher.ts'

/**
 * Makes the AES-GCM of an ssh2 connection several times as fast. Call it after each key exchange. ssh2 creates a cipher for each packet of
 * 32 KiB. Node.js accepts a key object for this in a microsecond, but accepts bytes only after two exceptions. Packets of the client may be
 * as long as OpenSSH makes them, such as a long command. Returns false, and changes nothing, if ssh2 lacks the private parts of its version
 * 1.17.
 */
export function quickenCiphers(client: Connection, transport: Writable): boolean {
  const protocol = (client as Connection & WithProtocol)._protocol
  const { _cipher: slow, _decipher: decipher } = protocol ?? {}
  if (protocol === undefined || !isSlow(slow) || !isSlowDecipher(decipher)) return false
  protocol._decipher = createPacketDecipher(decipher)
  protocol._cipher = createPacketCipher(transport, slow)
  return true
}

function isSlow(cipher: PacketCipher | undefined): cipher is SlowCipher {
  const { _encKey: key, _encIV: nonce, _encSSLName: name = '' } = (cipher ?? {}) as Partial<SlowCipher>
  return Buffer.isBuffer(key) && Buffer.isBuffer(nonce) && name.endsWith('-gcm')
}

/** Encrypts packets in place of ssh2's `AESGCMCipherNative`, and takes over its keys and counters (RFC 5647 as OpenSSH implements it). */
function createPacketCipher(transport: Writable, slow: SlowCipher): PacketCipher {
  const key = createSecretKey(slow._encKey)
  const nonce = Buffer.from(slow._encIV)
  const padding = createPadding()
  // Packets are created and encrypted one after the other.
  let room = Buffer.alloc(ROOM_BYTES)
  let isDead = false
  const cipher: PacketCipher = {
    outSeqno: slow.outSeqno,
    free: () => {
      isDead = true
    },
    allocPacket: (payloadBytes) => {
      const short = BLOCK_BYTES - ((1 + payloadBytes) % BLOCK_BYTES)
      const paddingBytes = short < LEAST_PADDING_BYTES ? short + BLOCK_BYTES : short
      const packetBytes = LENGTH_BYTES + 1 + payloadBytes + paddingBytes
      if (packetBytes > room.length) room = Buffer.alloc(packetBytes)
      room.writeUInt32BE(packetBytes - LENGTH_BYTES, 0)
      room[LENGTH_BYTES] = paddingBytes
      room.set(padding(paddingBytes), packetBytes - paddingBytes)
      return room.subarray(0, packetBytes)
    },
    encrypt: (packet) => {
      if (isDead || !transport.writable) return
      const gcm = createCipheriv(slow._encSSLName, key, nonce)
      const length = Buffer.from(packet.subarray(0, LENGTH_BYTES))
      gcm.setAAD(length)
      const body = gcm.update(packet.subarray(LENGTH_BYTES))
      gcm.final()
      transport.write(length)
      transport.write(body, () => release(body))
      transport.write(gcm.getAuthTag())
      nonce.writeBigUInt64BE(BigInt.asUintN(64, nonce.readBigUInt64BE(COUNTER_AT) + 1n), COUNTER_AT)
      cipher.outSeqno = (cipher.outSeqno + 1) >>> 0
    },
  }
  return cipher
}

/** Returns a function that takes random bytes from a store, which the operating system fills. */
function createPadding(): (sizeBytes: number) => Uint8Array {
  const store = Buffer.alloc(PADDING_STORE_BYTES)
  let at = store.length
  return (sizeBytes) => {
    if (at + sizeBytes > store.length) {
      randomFillSync(store)
      at = 0
    }
    at += sizeBytes
    return store.subarray(at - sizeBytes, at)
  }
}

/** Frees memory at once if no other object uses it. Otherwise the engine collects it, with the whole heap. */
function release({ buffer, length }: Buffer<ArrayBuffer>): void {
  if (buffer.byteLength === length && 'transfer' in buffer) buffer.transfer(0)
}

/** Interface that ssh2 expects of a cipher. */
interface PacketCipher {
  outSeqno: number
  allocPacket(payloadBytes: number): Buffer
  encrypt(packet: Buffer): void
  free(): void
}

interface SlowCipher extends PacketCipher {
  _encSSLName: CipherGCMTypes
  _encKey: Buffer
  _encIV: Buffer
}

/** Private parts of ssh2. */
interface WithProtocol {
  _protocol?: {
    _cipher?: PacketCipher
    _decipher?: PacketDecipher
  }
}

const BLOCK_BYTES = 16
const LENGTH_BYTES = 4
const LEAST_PADDING_BYTES = 4
/** Position of the packet counter in the nonce. */
const COUNTER_AT = 4
/** Holds the largest packet of the protocol, with 32 KiB of data. */
const ROOM_BYTES = 36 * 1024
const PADDING_STORE_BYTES = 16 * 1024
