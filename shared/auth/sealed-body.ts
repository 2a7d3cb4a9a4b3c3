import { timingSafeEqual } from 'node:crypto'
import { ServiceError } from '../errors.ts'
import type { BodyMac } from './channel.ts'

/** Appends a seal of 16 bytes to a body of unknown length, by which the receiver verifies that it has all of it. */
export async function* sealBody(pieces: AsyncIterable<Uint8Array>, mac: BodyMac): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    mac.update(piece)
    yield piece
  }
  yield mac.digest()
}

/**
 * Opens a body of `sealBody`. Yields pieces before the seal is verified, so the reader must be able to undo their effects.
 * `sealedBytes` is the declared length, null if unknown. Throws ServiceError `invalid_request` at the end if the body is incomplete
 * or altered.
 */
export async function* openSealed(
  pieces: AsyncIterable<Uint8Array>,
  mac: BodyMac,
  sealedBytes: number | null = null,
): AsyncGenerator<Uint8Array> {
  let held: Uint8Array = new Uint8Array(0)
  let left = sealedBytes === null ? 0 : sealedBytes - SEAL_BYTES
  for await (const piece of pieces) {
    const all = held.length === 0 ? piece : Buffer.concat([held, piece])
    // With a known length nothing needs to be held back, and copied, before the last piece.
    const rest = all.subarray(0, Math.max(0, Math.max(Math.min(left, all.length), all.length - SEAL_BYTES)))
    held = all.subarray(rest.length)
    if (rest.length === 0) continue
    left -= rest.length
    mac.update(rest)
    yield rest
  }
  if (held.length !== SEAL_BYTES || !timingSafeEqual(held, mac.digest()))
    throw new ServiceError('invalid_request', 'The body is not the one that was sent.')
}

/** Bytes that a seal adds to a body. */
export const SEAL_BYTES = 16
