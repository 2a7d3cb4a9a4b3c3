import type { Readable } from 'node:stream'

/** The end of a byte stream: at most `capacity` bytes are kept, all are counted. */
export class OutputTail {
  readonly #capacity: number
  #chunks: Buffer[] = []
  #isClosed = false
  #keptBytes = 0
  #totalBytes = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get totalBytes(): number {
    return this.#totalBytes
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Keeps nothing from now on, and lets go of what it kept. */
  close(): void {
    this.#isClosed = true
    this.#chunks = []
    this.#keptBytes = 0
  }

  push(chunk: Buffer): void {
    this.#totalBytes += chunk.length
    if (this.#isClosed) return
    this.#keptBytes += chunk.length
    this.#chunks.push(chunk)
    for (;;) {
      const first = this.#chunks[0]
      if (!first || this.#keptBytes - first.length < this.#capacity) break
      this.#chunks.shift()
      this.#keptBytes -= first.length
    }
    if (this.#chunks.length > MAX_CHUNKS) this.#chunks = [Buffer.concat(this.#chunks)]
  }

  /** The kept end, at most `capacity` bytes. */
  bytes(): Buffer {
    const all = Buffer.concat(this.#chunks)
    return all.length > this.#capacity ? all.subarray(all.length - this.#capacity) : all
  }
}

/** Reads `stream` into `tail`, slowly once that is closed; resolves at its end, and never rejects: a broken stream has ended. */
export function drainInto(stream: Readable, tail: OutputTail): Promise<void> {
  return new Promise((resolve) => {
    stream.on('data', (chunk: Buffer) => {
      tail.push(chunk)
      if (!tail.isClosed) return
      // Nobody wants it any more, but whoever writes must not hang, nor keep us busy.
      stream.pause()
      setTimeout(() => stream.resume(), IDLE_READ_MS).unref()
    })
    stream.on('end', resolve)
    stream.on('close', resolve)
    stream.on('error', () => resolve())
  })
}

const IDLE_READ_MS = 50

// Many one-byte writes must not cost a buffer object each.
const MAX_CHUNKS = 1024
