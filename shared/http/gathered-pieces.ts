/** Pieces of a body in their order, in memory proportional to their bytes, however short each is. */
export interface GatheredPieces {
  /** Adds a piece, which must not change after that. */
  push(piece: Uint8Array): void
  /** Takes the first bytes (a piece, or a block of short ones), or undefined if there are none. */
  shift(): Uint8Array | undefined
  /** Takes all bytes, as pieces and blocks. */
  takeAll(): Uint8Array[]
}

/**
 * Creates an empty one. A `Buffer` takes about 100 bytes of memory in addition to its own, so a body in pieces of one byte would take a
 * hundred times its size. Two short pieces in a row are therefore copied into a block.
 */
export function createGatheredPieces(): GatheredPieces {
  let pieces: Uint8Array[] = []
  // Short pieces at the end: a single one, or a block with space for more.
  let single: Uint8Array | null = null
  let block: Uint8Array | null = null
  let used = 0
  const seal = (): void => {
    if (single !== null) pieces.push(single)
    else if (block !== null) pieces.push(block.subarray(0, used))
    single = null
    block = null
    used = 0
  }
  const append = (piece: Uint8Array): void => {
    if (block === null || used + piece.length > block.length) {
      if (block !== null) seal()
      block = new Uint8Array(BLOCK_BYTES)
    }
    block.set(piece, used)
    used += piece.length
  }
  return {
    push: (piece) => {
      if (piece.length >= LONG_BYTES) {
        seal()
        pieces.push(piece)
      } else if (single === null && block === null) single = piece
      else {
        const first = single
        single = null
        if (first !== null) append(first)
        append(piece)
      }
    },
    shift: () => {
      if (pieces.length === 0) seal()
      return pieces.shift()
    },
    takeAll: () => {
      seal()
      const all = pieces
      pieces = []
      return all
    },
  }
}

/** Reads all of `pieces`, and stops once they exceed `maxBytes`. It then throws what `tooLong` returns. */
export async function readWhole(
  pieces: AsyncIterable<Uint8Array>,
  { maxBytes, tooLong }: { maxBytes: number; tooLong(): Error },
): Promise<Buffer> {
  const gathered = createGatheredPieces()
  let bytes = 0
  for await (const piece of pieces) {
    bytes += piece.length
    if (bytes > maxBytes) throw tooLong()
    gathered.push(piece)
  }
  return Buffer.concat(gathered.takeAll())
}

const LONG_BYTES = 1024
const BLOCK_BYTES = 4096
