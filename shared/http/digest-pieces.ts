import { createHash } from 'node:crypto'

/** Returns the length and the SHA-256 (hexadecimal) of bytes that come in pieces. Throws the reason of an aborted signal. */
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
