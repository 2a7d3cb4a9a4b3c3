/**
 * Buffers for long bodies that are read from files. The sender gives a buffer back, and the next read reuses it. A new one for each piece
 * would make V8 collect the whole heap after about every 50 MB, and delay all requests during that time. A buffer that is not given back is
 * collected like any other.
 */
export class LentBuffers {
  readonly #free: ArrayBuffer[] = []
  readonly #lent = new WeakSet<ArrayBufferLike>()

  /** Returns a buffer of `sizeBytes`, at most LENT_BYTES, with any content. */
  take(sizeBytes: number): Buffer {
    if (sizeBytes < LENT_BYTES / 4) return Buffer.allocUnsafeSlow(sizeBytes)
    const memory = this.#free.pop() ?? new ArrayBuffer(LENT_BYTES)
    this.#lent.add(memory)
    return Buffer.from(memory, 0, sizeBytes)
  }

  /** Takes back a piece that has no reader left. Ignores pieces that it did not lend or that are already back. */
  giveBack({ buffer }: Uint8Array): void {
    if (!(buffer instanceof ArrayBuffer) || !this.#lent.delete(buffer)) return
    if (this.#free.length < KEPT) this.#free.push(buffer)
  }
}

/** The buffers of this process. */
export const LENT_BUFFERS = new LentBuffers()

export const LENT_BYTES = 512 * 1024
/** Buffers kept for the next reads: 8 MiB. */
const KEPT = 16
