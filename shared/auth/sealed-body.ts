import { timingSafeEqual } from 'node:crypto'
import { ServiceError } from '../errors.ts'
import type { BodyMac } from './channel.ts'

/** The pieces of a body of unknown length, and 16 bytes after them by which the other side knows that it has all of it. */
export async function* sealBody(pieces: AsyncIterable<Uint8Array>, mac: BodyMac): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    mac.update(piece)
    yield piece
  }
  yield mac.digest()
}

/**
 * What `sealBody` sealed, in pieces: each is given away before the seal is known, so that nothing may be done that cannot be
 * undone before the end. `sealedBytes` is how long it says it is, null if it does not. Throws ServiceError `invalid_request` at
 * the end if it is not whole, or another.
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
    // Where it is known how much is to come, nothing has to be held back, and copied, before the last piece.
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

/** What a seal adds to a body. */
export const SEAL_BYTES = 16
