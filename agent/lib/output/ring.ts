import fs from 'node:fs'
import { dirname } from 'node:path'
import { isErrno } from '../syscalls/libc.ts'

/** A piece of a stream: `bytes` from `offset` on, where `totalBytes` have been written in all. */
export interface RingPiece {
  /** Later than asked for where the asked bytes are no longer kept. */
  offset: number
  bytes: Buffer
  totalBytes: number
}

export interface OutputRingOptions {
  /** The file, mode 0600, made once more than `memoryBytes` are kept. */
  path: string
  /** Called before it is made, and may throw. */
  onFile?: () => void
  /** Bytes kept: the last of the stream. */
  capacity: number
  /** 0 makes the file at once. */
  memoryBytes: number
}

/**
 * The end of a byte stream: in memory while it is short, then in a file that other processes can read meanwhile. All bytes are
 * counted. Where the disk takes no more, what could not be written is not kept, and nothing before it; that is no error.
 */
export class OutputRing {
  readonly #options: OutputRingOptions
  #chunks: Buffer[] = []
  #fd: number | null = null
  #isSealed = false
  #hasNoFile = false
  #totalBytes = 0
  /** The first byte that is kept, but for those that the ring has gone over. */
  #from = 0

  /** Throws if `memoryBytes` is 0 and the file cannot be made. */
  constructor(options: OutputRingOptions) {
    this.#options = options
    if (options.memoryBytes === 0) this.#openFile()
  }

  get totalBytes(): number {
    return this.#totalBytes
  }

  /** How many of them are kept. */
  get keptBytes(): number {
    return Math.min(this.#totalBytes - this.#from, this.#options.capacity)
  }

  /** Whether what is kept is in the file. */
  get isInFile(): boolean {
    return this.#fd !== null
  }

  get isSealed(): boolean {
    return this.#isSealed
  }

  /** Takes nothing, and counts nothing, from now on. */
  seal(): void {
    this.#isSealed = true
  }

  push(chunk: Buffer): void {
    if (this.#isSealed || chunk.length === 0) return
    if (this.#fd !== null) {
      this.#write(chunk)
      return
    }
    this.#chunks.push(chunk)
    this.#totalBytes += chunk.length
    if (this.#totalBytes - this.#from > this.#options.memoryBytes) this.#spill()
    else if (this.#chunks.length > MAX_CHUNKS) this.#chunks = [Buffer.concat(this.#chunks)]
  }

  /** At most `maxBytes` from `offset` on, or from the oldest byte that is kept. */
  read(offset: number, maxBytes: number): RingPiece {
    if (this.#fd !== null) return readRing(this.#fd, { capacity: this.#options.capacity, offset, maxBytes })
    const kept = Buffer.concat(this.#chunks)
    const start = Math.max(offset, this.#from)
    const bytes = kept.subarray(start - this.#from, start - this.#from + maxBytes)
    return { offset: start, bytes, totalBytes: this.#totalBytes }
  }

  /** Resolves once what is in the file, and the file's name, survive a power cut. */
  async sync(): Promise<void> {
    if (this.#fd === null) return
    await new Promise<void>((resolve, reject) => {
      fs.fdatasync(this.#fd ?? -1, (error) => (error ? reject(error) : resolve()))
    })
    const directory = await fs.promises.open(dirname(this.#options.path))
    await directory.sync().finally(() => directory.close())
  }

  /** Lets go of memory and descriptor; the file stays. Nothing can be read any more. */
  close(): void {
    this.seal()
    this.#chunks = []
    if (this.#fd !== null) fs.closeSync(this.#fd)
    this.#fd = null
  }

  #spill(): void {
    const all = Buffer.concat(this.#chunks)
    if (!this.#hasNoFile) {
      try {
        this.#totalBytes -= all.length
        this.#openFile()
        this.#chunks = []
        this.#write(all)
        return
      } catch {
        this.#totalBytes += all.length
        this.#hasNoFile = true
      }
    }
    const kept = all.subarray(Math.max(0, all.length - this.#options.memoryBytes))
    this.#from = this.#totalBytes - kept.length
    this.#chunks = [Buffer.from(kept)]
  }

  #openFile(): void {
    this.#options.onFile?.()
    const fd = fs.openSync(this.#options.path, 'w+', 0o600)
    this.#fd = fd
    try {
      this.#writeHeader(this.#totalBytes)
    } catch (error) {
      this.#fd = null
      fs.closeSync(fd)
      fs.rmSync(this.#options.path, { force: true })
      throw error
    }
  }

  #write(chunk: Buffer): void {
    const { capacity } = this.#options
    const end = this.#totalBytes + chunk.length
    const kept = chunk.subarray(Math.max(0, chunk.length - capacity))
    try {
      // Told first, so that whoever reads meanwhile knows what is no longer what it was.
      if (end - this.#from > capacity) this.#writeHeader(end)
      for (const { bytes, position } of placesOf(kept, end - kept.length, capacity)) writeAll(this.#fd, bytes, position)
    } catch {
      this.#from = end
    }
    this.#totalBytes = end
    try {
      this.#writeHeader(end)
    } catch {
      // Its block is there since the file was made; a disk that fails altogether is told of elsewhere.
    }
  }

  #writeHeader(reserved: number): void {
    const header = Buffer.alloc(HEADER_FIELDS * 8)
    for (const [place, value] of [reserved, this.#totalBytes, this.#from].entries())
      header.writeBigUInt64LE(BigInt(value), place * 8)
    writeAll(this.#fd, header, 0)
  }
}

/** Reads the file of a ring of that `capacity`, also while it is written elsewhere; without a file nothing was written. */
export function readRingFile(path: string, range: { capacity: number; offset: number; maxBytes: number }): RingPiece {
  let fd: number
  try {
    fd = fs.openSync(path, 'r')
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return { offset: range.offset, bytes: Buffer.alloc(0), totalBytes: 0 }
    throw error
  }
  try {
    return readRing(fd, range)
  } finally {
    fs.closeSync(fd)
  }
}

function readRing(fd: number, range: { capacity: number; offset: number; maxBytes: number }): RingPiece {
  const { capacity, offset, maxBytes } = range
  const before = readHeader(fd)
  const start = Math.max(offset, before.from, before.reserved - capacity)
  const bytes = Buffer.alloc(Math.min(Math.max(before.totalBytes - start, 0), maxBytes))
  for (const { bytes: part, position } of placesOf(bytes, start, capacity)) readInto(fd, part, position)
  const after = readHeader(fd)
  const overwritten = Math.max(after.from, after.reserved - capacity) - start
  const lost = Math.min(Math.max(overwritten, 0), bytes.length)
  return { offset: start + lost, bytes: bytes.subarray(lost), totalBytes: before.totalBytes }
}

/** Where the bytes of a stream from `start` on, at most `capacity`, are in the file: one part, or two around the end. */
function placesOf(bytes: Buffer, start: number, capacity: number): { bytes: Buffer; position: number }[] {
  const first = start % capacity
  const head = bytes.subarray(0, capacity - first)
  const tail = bytes.subarray(head.length)
  const places = [{ bytes: head, position: HEADER_BYTES + first }]
  if (tail.length > 0) places.push({ bytes: tail, position: HEADER_BYTES })
  return places.filter((place) => place.bytes.length > 0)
}

interface Header {
  /** Where the writer is about to come. */
  reserved: number
  totalBytes: number
  from: number
}

// Read until twice the same: another process may be at it.
function readHeader(fd: number): Header {
  let last = Buffer.alloc(0)
  for (;;) {
    const now = Buffer.alloc(HEADER_FIELDS * 8)
    readInto(fd, now, 0)
    if (now.equals(last)) break
    last = now
  }
  const [reserved = 0, totalBytes = 0, from = 0] = [0, 8, 16].map((place) => Number(last.readBigUInt64LE(place)))
  return { reserved, totalBytes, from }
}

function writeAll(fd: number | null, bytes: Buffer, position: number): void {
  for (let done = 0; done < bytes.length; )
    done += fs.writeSync(fd ?? -1, bytes, done, bytes.length - done, position + done)
}

function readInto(fd: number, bytes: Buffer, position: number): void {
  for (let done = 0; done < bytes.length; ) {
    const count = fs.readSync(fd, bytes, done, bytes.length - done, position + done)
    if (count === 0) return
    done += count
  }
}

// Many one-byte writes must not cost a buffer object each.
const MAX_CHUNKS = 1024
const HEADER_FIELDS = 3
// A page of its own.
const HEADER_BYTES = 4096
