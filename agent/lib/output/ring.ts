import fs from 'node:fs'
import { dirname } from 'node:path'
import { isErrno } from '../syscalls/libc.ts'

/** A piece of a stream: `bytes` from `offset` on, of `totalBytes` written in all. */
export interface RingPiece {
  /** Later than requested if those bytes are no longer kept. */
  offset: number
  bytes: Buffer
  totalBytes: number
}

export interface OutputRingOptions {
  /** The file, mode 0600, created once more than `memoryBytes` are kept. */
  path: string
  /** Called before it is created. It may throw. */
  onFile?: () => void
  /** Bytes to keep, of the end of the stream. */
  capacity: number
  /** Bytes to keep in memory, or 0 to create the file at once. */
  memoryBytes: number
}

/**
 * Keeps the end of a byte stream and counts all bytes. While it is short it stays in memory, then goes to a file. Other processes can
 * read the published part of the file at the same time. A failed write is not an error. The ring then keeps nothing up to and including
 * the bytes of that write.
 */
export class OutputRing {
  readonly #options: OutputRingOptions
  #chunks: Buffer[] = []
  #fd: number | null = null
  #isSealed = false
  /** True once other processes may read the file. */
  #isPublic = false
  /** True if the header does not cover the last write. */
  #isHeaderBehind = false
  #hasNoFile = false
  #totalBytes = 0
  /** The offset of the first byte that was not lost to a failed write or to `memoryBytes`. */
  #from = 0

  /** Throws if `memoryBytes` is 0 and the file cannot be created. */
  constructor(options: OutputRingOptions) {
    this.#options = options
    if (options.memoryBytes === 0) this.#openFile()
  }

  get totalBytes(): number {
    return this.#totalBytes
  }

  /** Counts the bytes that are kept. */
  get keptBytes(): number {
    return Math.min(this.#totalBytes - this.#from, this.#options.capacity)
  }

  /** True if the kept bytes are in the file. */
  get isInFile(): boolean {
    return this.#fd !== null
  }

  get isSealed(): boolean {
    return this.#isSealed
  }

  /** Ignores all later bytes. */
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

  /** Reads at most `maxBytes` from `offset` on, or from the oldest byte that is kept. */
  read(offset: number, maxBytes: number): RingPiece {
    const [fd, { capacity }] = [this.#fd, this.#options]
    if (fd !== null) {
      const header = { reserved: this.#totalBytes, totalBytes: this.#totalBytes, from: this.#from }
      return readRing(fd, () => header, { capacity, offset, maxBytes })
    }
    const kept = Buffer.concat(this.#chunks)
    const start = Math.max(offset, this.#from)
    const bytes = kept.subarray(start - this.#from, start - this.#from + maxBytes)
    return { offset: start, bytes, totalBytes: this.#totalBytes }
  }

  /** Lets other processes read from the file what was written so far. Does nothing if there is none. */
  publish(): void {
    this.#isPublic = true
    if (this.#fd === null || !this.#isHeaderBehind) return
    this.#isHeaderBehind = false
    try {
      this.#writeHeader(this.#totalBytes)
    } catch {
      // Its block is allocated since the file was created, so a full disk cannot fail it. Disk errors are reported elsewhere.
    }
  }

  /** Publishes, and syncs the file and its directory entry to disk. */
  async sync(): Promise<void> {
    this.publish()
    if (this.#fd === null) return
    await new Promise<void>((resolve, reject) => {
      fs.fdatasync(this.#fd ?? -1, (error) => (error ? reject(error) : resolve()))
    })
    const directory = await fs.promises.open(dirname(this.#options.path))
    try {
      await directory.sync()
    } finally {
      await directory.close()
    }
  }

  /** Publishes, and frees memory and descriptor, after which nothing can be read. The file stays. */
  close(): void {
    this.seal()
    this.publish()
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
      // Written first, so that a concurrent reader knows which bytes are being overwritten.
      if (this.#isPublic && end - this.#from > capacity) this.#writeHeader(end)
      for (const { bytes, position } of extentsOf(kept, end - kept.length, capacity))
        writeAll(this.#fd, bytes, position)
    } catch {
      this.#from = end
    }
    this.#totalBytes = end
    this.#isHeaderBehind = true
  }

  #writeHeader(reserved: number): void {
    const header = Buffer.alloc(HEADER_FIELDS * 8)
    for (const [index, value] of [reserved, this.#totalBytes, this.#from].entries())
      header.writeBigUInt64LE(BigInt(value), index * 8)
    writeAll(this.#fd, header, 0)
  }
}

/** Reads the file of a ring of that `capacity`, also while another process writes it. An absent file reads as empty. */
export function readRingFile(path: string, range: { capacity: number; offset: number; maxBytes: number }): RingPiece {
  let fd: number
  try {
    fd = fs.openSync(path, 'r')
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return { offset: range.offset, bytes: Buffer.alloc(0), totalBytes: 0 }
    throw error
  }
  try {
    return readRing(fd, () => readHeader(fd), range)
  } finally {
    fs.closeSync(fd)
  }
}

function readRing(
  fd: number,
  headerNow: () => Header,
  range: { capacity: number; offset: number; maxBytes: number },
): RingPiece {
  const { capacity, offset, maxBytes } = range
  const before = headerNow()
  const start = Math.max(offset, before.from, before.reserved - capacity)
  const bytes = Buffer.alloc(Math.min(Math.max(before.totalBytes - start, 0), maxBytes))
  for (const { bytes: part, position } of extentsOf(bytes, start, capacity)) readInto(fd, part, position)
  const after = headerNow()
  const overwritten = Math.max(after.from, after.reserved - capacity) - start
  const lost = Math.min(Math.max(overwritten, 0), bytes.length)
  return { offset: start + lost, bytes: bytes.subarray(lost), totalBytes: before.totalBytes }
}

/** Maps bytes of the stream from `start` on, at most `capacity`, to their file positions. Returns one extent, or two if they wrap. */
function extentsOf(bytes: Buffer, start: number, capacity: number): { bytes: Buffer; position: number }[] {
  const first = start % capacity
  const head = bytes.subarray(0, capacity - first)
  const tail = bytes.subarray(head.length)
  const extents = [{ bytes: head, position: HEADER_BYTES + first }]
  if (tail.length > 0) extents.push({ bytes: tail, position: HEADER_BYTES })
  return extents.filter((extent) => extent.bytes.length > 0)
}

interface Header {
  /** The offset up to which the writer may be writing. */
  reserved: number
  totalBytes: number
  from: number
}

// Reads until two reads agree, since another process may be writing.
function readHeader(fd: number): Header {
  let last = Buffer.alloc(0)
  for (;;) {
    const now = Buffer.alloc(HEADER_FIELDS * 8)
    readInto(fd, now, 0)
    if (now.equals(last)) break
    last = now
  }
  const [reserved = 0, totalBytes = 0, from = 0] = [0, 8, 16].map((at) => Number(last.readBigUInt64LE(at)))
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

// Bounds the buffer objects that many one-byte writes cost.
const MAX_CHUNKS = 1024
const HEADER_FIELDS = 3
// One page.
const HEADER_BYTES = 4096
