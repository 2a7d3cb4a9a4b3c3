import { timingSafeEqual } from 'node:crypto'
import { ServiceError } from '../errors.ts'
import type { BodyMac } from './body-mac.ts'

/** Appends a seal of 16 bytes to a body of unknown length. With it the receiver verifies that the body is complete. */
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
  const take = (bytes: Uint8Array): Uint8Array => {
    mac.update(bytes)
    return bytes
  }
  let held: Uint8Array = new Uint8Array(0)
  let left = sealedBytes === null ? 0 : sealedBytes - SEAL_BYTES
  for await (const piece of pieces) {
    const body = piece.subarray(0, left)
    left -= body.length
    if (body.length > 0) yield take(body)
    const last = piece.subarray(body.length)
    // Holds back a piece that may end with the seal, without a copy, until another such piece comes. Copying a long body takes longer than
    // reading it.
    if (last.length >= SEAL_BYTES) {
      if (held.length > 0) yield take(held)
      held = last
    } else if (last.length > 0) {
      const all = Buffer.concat([held, last])
      held = all.subarray(-SEAL_BYTES)
      if (all.length > SEAL_BYTES) yield take(all.subarray(0, -SEAL_BYTES))
    }
  }
  const ready = held.subarray(0, -SEAL_BYTES)
  if (ready.length > 0) yield take(ready)
  const seal = held.subarray(ready.length)
  if (seal.length !== SEAL_BYTES || !timingSafeEqual(seal, mac.digest()))
    throw new ServiceError('invalid_request', 'The body changed on its way.')
}

/** Bytes that a seal adds to a body. */
export const SEAL_BYTES = 16
