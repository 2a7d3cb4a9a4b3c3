import { createHash } from 'node:crypto'

/** A part of an object that goes into one request. */
export interface Block {
  bytes: Buffer
  /** In base64. */
  sha256: string
}

/**
 * Cuts `pieces` into blocks of one size, except for the last, which is not empty. Copies and digests each piece as it comes, because a
 * whole block at once would stop the event loop for many milliseconds.
 */
export async function* cutBlocks(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Block, undefined> {
  let bytes = Buffer.allocUnsafeSlow(BLOCK_BYTES)
  let hash = createHash('sha256')
  let length = 0
  const end = (): Block => ({ bytes: bytes.subarray(0, length), sha256: hash.digest('base64') })
  for await (let piece of pieces) {
    while (piece.length > 0) {
      const part = piece.subarray(0, BLOCK_BYTES - length)
      bytes.set(part, length)
      hash.update(part)
      length += part.length
      piece = piece.subarray(part.length)
      if (length < BLOCK_BYTES) continue
      yield end()
      bytes = Buffer.allocUnsafeSlow(BLOCK_BYTES)
      hash = createHash('sha256')
      length = 0
    }
  }
  if (length > 0) yield end()
  return undefined
}

export const EMPTY_BLOCK: Block = { bytes: Buffer.alloc(0), sha256: createHash('sha256').digest('base64') }
const BLOCK_BYTES = 8 * 1024 ** 2
