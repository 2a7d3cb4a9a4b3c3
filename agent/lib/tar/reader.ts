import { ServiceError } from '../../../shared/errors.ts'
import type { Steps } from '../threads/task.ts'
import {
  decodeRecords,
  decodeTarBlock,
  decodeText,
  KEPT_BYTES,
  SPARSE_MAP,
  SPARSE_UNKNOWN,
  type TarBlock,
  withRecords,
} from './fields.ts'
import { BLOCK_BYTES, paddedSize, type TarHeader } from './headers.ts'
import { layoutOf, OLD_MAP, oldMapOf, RANGES_MAX, type ReadLayout, type SparseLayout, TOO_MANY } from './sparse.ts'

/** An entry as the archive describes it, unchecked. */
export interface TarEntry extends TarHeader {
  /** Reason why its metadata is unusable; null if it is fine. */
  fault: string | null
  /** Where the content of a file belongs that has holes; null for any other. */
  sparse: SparseLayout | null
}

/** Reads a streamed archive entry by entry. Throws `invalid_request` if it is not a tar archive or is truncated. */
export interface TarReader {
  /** Skips the rest of the current entry and returns the next; null at the end. */
  next(): Steps<TarEntry | null>
  /** Returns the next piece of the entry's content, valid until the next call; null at its end. */
  read(): Steps<Buffer | null>
  /** Reads and drops all input after the end marker. */
  drain(): Steps<void>
}

/**
 * Creates a reader of the pieces that `receive` returns, null at the end of input. Reads POSIX (ustar and pax), GNU and older archives.
 * Holds at most 1 MiB of metadata per extended header, and never a whole content.
 */
export function createTarReader(receive: () => Steps<Uint8Array | null>): TarReader {
  return new Reader(receive)
}

class Reader implements TarReader {
  readonly #receive: () => Steps<Uint8Array | null>
  #piece: Buffer = Buffer.alloc(0)
  #isAtEnd = false
  #hasBegun = false
  /** Unread bytes of the entry's content; `#padding` fills its last block. */
  #left = 0
  #padding = 0
  #globals = new Map<string, string>()

  constructor(receive: () => Steps<Uint8Array | null>) {
    this.#receive = receive
  }

  *next(): Steps<TarEntry | null> {
    const metadata: EntryMetadata = { records: new Map(this.#globals), fault: null }
    for (;;) {
      yield* this.#skip(this.#left + this.#padding)
      this.#left = this.#padding = 0
      const bytes = yield* this.#bytes(BLOCK_BYTES)
      if (isZero(bytes)) return null
      const block = decodeTarBlock(bytes)
      if (block === null) throw this.#hasBegun ? damaged('what comes next is no header') : noTar(bytes)
      this.#hasBegun = true
      if (METADATA_FLAGS.has(block.flag)) yield* this.#readMetadata(block, metadata)
      else return yield* this.#beginEntry(block, metadata)
    }
  }

  *read(): Steps<Buffer | null> {
    if (this.#left === 0) return null
    yield* this.#fill()
    const piece = this.#piece.subarray(0, this.#left)
    this.#piece = this.#piece.subarray(piece.length)
    this.#left -= piece.length
    return piece
  }

  *drain(): Steps<void> {
    while (!this.#isAtEnd) this.#isAtEnd = (yield* this.#receive()) === null
  }

  /** Reads an extended header into the metadata of the next entry. */
  *#readMetadata(block: TarBlock, metadata: EntryMetadata): Steps<void> {
    const { flag } = block
    this.#expect(sizeOf(block.sizeBytes))
    if (this.#left > METADATA_BYTES_MAX) {
      metadata.fault = 'what the archive tells of it is larger than 1 MiB'
      return
    }
    const body = yield* this.#bytes(this.#left)
    this.#left = 0
    if (flag === 'L') return void metadata.records.set('path', decodeText(body, 0, body.length))
    if (flag === 'K') return void metadata.records.set('linkpath', decodeText(body, 0, body.length))
    const records = decodeRecords(body)
    if (records === null) metadata.fault = 'what the archive tells of it is damaged'
    for (const [key, value] of records ?? []) {
      metadata.records.set(key, value)
      if (flag === 'g') this.#globals.set(key, value)
    }
  }

  *#beginEntry(block: TarBlock, { records, fault }: EntryMetadata): Steps<TarEntry> {
    const header = withRecords(block, records)
    if (header.kind === 'file' && header.path.endsWith('/')) header.kind = 'directory'
    for (let hasMore = block.hasMore; hasMore; ) {
      const more = yield* this.#bytes(BLOCK_BYTES)
      hasMore = more[504] === 1
      const numbers = block.oldSparse?.numbers ?? []
      if (numbers.length <= 2 * RANGES_MAX) numbers.push(...oldMapOf(more, OLD_MAP.more.start, OLD_MAP.more.count))
    }
    this.#expect(WITHOUT_CONTENT.has(block.flag) ? 0 : sizeOf(header.sizeBytes))
    const read = header.kind === 'file' ? yield* this.#readLayout(block, records) : null
    const sparse = read !== null && 'layout' in read ? read.layout : null
    const sparseFault = read !== null && 'fault' in read ? read.fault : null
    return { ...header, sizeBytes: this.#left, fault: fault ?? sparseFault ?? faultOf(header), sparse }
  }

  /** Reads where the content of a sparse file belongs; null for another file. */
  *#readLayout({ oldSparse }: TarBlock, records: ReadonlyMap<string, string>): Steps<ReadLayout | null> {
    if (oldSparse !== null) return layoutOf(oldSparse.numbers, oldSparse.realSize, this.#left)
    const map = records.get(SPARSE_MAP)
    if (map !== undefined) return layoutOf(map.split(','), records.get('GNU.sparse.size') ?? '', this.#left)
    if (records.has(SPARSE_UNKNOWN)) return { fault: 'it is a sparse file of a form that is not unpacked' }
    const version = `${records.get('GNU.sparse.major') ?? ''}.${records.get('GNU.sparse.minor') ?? ''}`
    if (version === '.') return null
    if (version !== '1.0') return { fault: 'it is a sparse file of a form that is not unpacked' }
    const numbers = yield* this.#readMap()
    return numbers === null
      ? { fault: TOO_MANY }
      : layoutOf(numbers, records.get('GNU.sparse.realsize') ?? '', this.#left)
  }

  /** Reads the map that the content of a sparse file begins with, in whole blocks; null if it is too long. */
  *#readMap(): Steps<string[] | null> {
    const lines: string[] = []
    let [rest, wanted] = ['', 1]
    while (lines.length < wanted) {
      if (wanted > 2 * RANGES_MAX + 1) return null
      if (this.#left < BLOCK_BYTES || rest.length > BLOCK_BYTES) return CUT_OFF
      this.#left -= BLOCK_BYTES
      const found: string[] = (rest + (yield* this.#bytes(BLOCK_BYTES)).toString('latin1')).split('\n')
      rest = found.pop() ?? ''
      for (const line of found) lines.push(line)
      wanted = 1 + 2 * (/^\d{1,6}$/.test(lines[0] ?? '') ? Number(lines[0]) : 0)
    }
    return lines.slice(1, wanted)
  }

  #expect(sizeBytes: number): void {
    this.#left = sizeBytes
    this.#padding = paddedSize(sizeBytes) - sizeBytes
  }

  // Returns a view of the current piece if it has all bytes.
  *#bytes(count: number): Steps<Buffer> {
    if (this.#piece.length < count) {
      const parts: Buffer[] = []
      for (let left = count; left > 0; ) {
        if (!(yield* this.#tryFill())) throw this.#hasBegun ? truncated() : noTar(Buffer.concat(parts))
        const part = this.#piece.subarray(0, left)
        parts.push(part)
        left -= part.length
        this.#piece = this.#piece.subarray(part.length)
      }
      return Buffer.concat(parts)
    }
    const bytes = this.#piece.subarray(0, count)
    this.#piece = this.#piece.subarray(count)
    return bytes
  }

  *#skip(count: number): Steps<void> {
    for (let left = count; left > 0; ) {
      yield* this.#fill()
      const part = Math.min(left, this.#piece.length)
      this.#piece = this.#piece.subarray(part)
      left -= part
    }
  }

  *#fill(): Steps<void> {
    if (!(yield* this.#tryFill())) throw truncated()
  }

  *#tryFill(): Steps<boolean> {
    while (this.#piece.length === 0) {
      const piece = this.#isAtEnd ? null : yield* this.#receive()
      if (piece === null) {
        this.#isAtEnd = true
        return false
      }
      this.#piece = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
    }
    return true
  }
}

/** Metadata that extended headers give to the next entry. */
interface EntryMetadata {
  records: Map<string, string>
  fault: string | null
}

function faultOf(header: TarHeader): string | null {
  if (header.path.length > KEPT_BYTES) return `its name is longer than ${KEPT_BYTES} bytes`
  const { mode, uid, gid, modifiedSeconds } = header
  return [mode, uid, gid, modifiedSeconds].every(Number.isSafeInteger)
    ? null
    : 'what the archive tells of it is damaged'
}

// Throws for an invalid size, since it determines where the next header begins.
function sizeOf(sizeBytes: number): number {
  if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 0) throw damaged('a size in it is no number')
  return sizeBytes
}

function isZero(block: Buffer): boolean {
  return block[0] === 0 && block.every((byte) => byte === 0)
}

function noTar(bytes: Buffer): ServiceError {
  const found = COMPRESSIONS.find(([magic]) => bytes.toString('latin1', 0, magic.length) === magic)
  if (found === undefined) return new ServiceError('invalid_request', 'The body is no tar archive.')
  return new ServiceError('invalid_request', `The body is compressed (${found[1]}); it must be a tar as it is.`)
}

function damaged(why: string): ServiceError {
  return new ServiceError('invalid_request', `The archive is damaged: ${why}. What came before was unpacked.`)
}

function truncated(): ServiceError {
  return new ServiceError('invalid_request', 'The archive breaks off. What came before was unpacked.')
}

/** Flags of pax headers, for one entry or all that follow, and of GNU long names. */
const METADATA_FLAGS: ReadonlySet<string> = new Set(['x', 'X', 'g', 'L', 'K'])
/** Flags of links, devices, directories and FIFOs: their size field does not count content. */
const WITHOUT_CONTENT: ReadonlySet<string> = new Set(['1', '2', '3', '4', '5', '6'])
/** A map that is damaged. */
const CUT_OFF = ['']
const METADATA_BYTES_MAX = 1024 * 1024
const COMPRESSIONS: readonly (readonly [string, string])[] = [
  ['\x1f\x8b', 'gzip'],
  ['BZh', 'bzip2'],
  ['\xfd7zXZ', 'xz'],
  ['\x28\xb5\x2f\xfd', 'zstd'],
]
