import { createHash } from 'node:crypto'

/**
 * Returns the length, and the SHA-256 in hexadecimal digits, of bytes that come in pieces; throws the reason of a signal that
 * aborts.
 */
export async function digestPieces(
  pieces: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): Promise<{ sizeBytes: number; sha256: string }> {
  const hash = createHash('sha256')
  let sizeBytes = 0
  for await (const piece of pieces) {
    signal?.throwIfAborted()
    hash.update(piece)
    sizeBytes += piece.length
  }
  return { sizeBytes, sha256: hash.digest('hex') }
}
