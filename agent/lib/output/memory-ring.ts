/** A piece of a stream: `bytes` from `offset` on. */
export interface KeptPiece {
  /** Later than requested if those bytes are no longer kept. */
  offset: number
  bytes: Buffer
}

/** Keeps the last `capacity` bytes of a stream in memory, which grows with them. Counts all bytes. */
export class MemoryRing {
  readonly #capacity: number
  #buffer: Buffer
  #totalBytes = 0
  #isSealed = false

  constructor(capacity: number) {
    this.#capacity = capacity
    this.#buffer = Buffer.alloc(Math.min(capacity, FIRST_BYTES))
  }

  get totalBytes(): number {
    return this.#totalBytes
  }

  get isSealed(): boolean {
    return this.#isSealed
  }

  /** Ignores all later bytes. */
  seal(): void {
    this.#isSealed = true
  }

  /** Appends a copy of `chunk`. */
  push(chunk: Buffer): void {
    if (this.#isSealed) return
    this.#grow(this.#totalBytes + chunk.length)
    const { length } = this.#buffer
    const kept = chunk.subarray(Math.max(0, chunk.length - length))
    this.#totalBytes += chunk.length
    const index = (this.#totalBytes - kept.length) % length
    const head = kept.copy(this.#buffer, index)
    kept.copy(this.#buffer, 0, head)
  }

  /** Copies at most `maxBytes` from `offset` on, or from the oldest byte that is kept. */
  read(offset: number, maxBytes: number): KeptPiece {
    const { length } = this.#buffer
    const start = Math.max(offset, this.#totalBytes - length)
    const size = Math.max(0, Math.min(maxBytes, this.#totalBytes - start))
    const index = start % length
    const head = this.#buffer.subarray(index, index + size)
    const tail = this.#buffer.subarray(0, size - head.length)
    return { offset: start, bytes: Buffer.concat([head, tail]) }
  }

  // A plain copy is enough, since nothing wraps until the buffer has full capacity.
  #grow(wantedBytes: number): void {
    const { length } = this.#buffer
    if (wantedBytes <= length || length === this.#capacity) return
    let next = length
    while (next < wantedBytes && next < this.#capacity) next *= 2
    const grown = Buffer.alloc(Math.min(next, this.#capacity))
    this.#buffer.copy(grown)
    this.#buffer = grown
  }
}

const FIRST_BYTES = 4096
