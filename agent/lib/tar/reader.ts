import { ServiceError } from '../../../shared/errors.ts'
import type { Steps, TaskIo } from '../threads/task.ts'
import {
  decodeRecords,
  decodeTarBlock,
  decodeText,
  isOfSparseFile,
  KEPT_BYTES,
  SPARSE_MAP,
  type TarBlock,
  withRecords,
} from './fields.ts'
import { BLOCK_BYTES, paddedSize, type TarHeader } from './headers.ts'
import {
  addOldMap,
  decodeSize,
  MapCollector,
  OLD_MAP,
  oldRealSize,
  type ReadLayout,
  type SparseLayout,
} from './sparse.ts'

/** An entry as the archive describes it, unchecked. */
export interface TarEntry extends TarHeader {
  /** Reason why its metadata is unusable. Null if it is fine. */
  fault: string | null
  /** Where the content of a file belongs that has holes. Null for any other. */
  sparse: SparseLayout | null
}

/** Reads a streamed archive entry by entry. Throws `invalid_request` if it is not a tar archive or is truncated. */
export interface TarReader {
  /** Skips the rest of the current entry and returns the next. Null at the end. */
  next(): Steps<TarEntry | null>
  /** Returns the next piece of the entry's content, valid until the next call. Null at its end. */
  read(): Steps<Buffer | null>
  /** Reads and drops all input after the end marker. */
  drain(): Steps<void>
}

/** Where the pieces of an archive come from, null at their end, and when to pause. */
export type TarSource = Pick<TaskIo<never, Uint8Array | null>, 'receive' | 'mustPause'>

/**
 * Creates a reader of an archive. Reads POSIX (ustar and pax), GNU and older archives. Holds at most 1 MiB of metadata per extended header,
 * and never a whole content.
 */
export function createTarReader(source: TarSource): TarReader {
  return new Reader(source)
}

class Reader implements TarReader {
  readonly #source: TarSource
  #piece: Buffer = Buffer.alloc(0)
  #isAtEnd = false
  #hasBegun = false
  /** Unread bytes of the entry's content. `#padding` fills its last block. */
  #left = 0
  #padding = 0
  #globals = new Map<string, string>()

  constructor(source: TarSource) {
    this.#source = source
  }

  *next(): Steps<TarEntry | null> {
    const metadata: EntryMetadata = { records: new Map(this.#globals), fault: null }
    for (;;) {
      yield* this.#skip(this.#left + this.#padding)
      this.#left = this.#padding = 0
      const bytes = yield* this.#bytes(BLOCK_BYTES)
      if (isZero(bytes)) return null
      const block = decodeTarBlock(bytes)
      if (block === null) throw this.#hasBegun ? damaged('the next block is not a header') : noTar(bytes)
      this.#hasBegun = true
      if (!METADATA_FLAGS.has(block.flag)) return yield* this.#beginEntry({ ...block, bytes }, metadata)
      yield* this.#readMetadata(block, metadata)
      yield* this.#pause()
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
    while (!this.#isAtEnd) this.#isAtEnd = (yield* this.#source.receive()) === null
  }

  /** Reads an extended header into the metadata of the next entry. */
  *#readMetadata(block: TarBlock, metadata: EntryMetadata): Steps<void> {
    const { flag } = block
    this.#expect(sizeOf(block.sizeBytes))
    if (this.#left > METADATA_BYTES_MAX) {
      metadata.fault = 'its metadata in the archive is larger than 1 MiB'
      return
    }
    const body = yield* this.#bytes(this.#left)
    this.#left = 0
    if (flag === 'L') return void metadata.records.set('path', decodeText(body, 0, body.length))
    if (flag === 'K') return void metadata.records.set('linkpath', decodeText(body, 0, body.length))
    const records = yield* decodeRecords(body, this.#source)
    if (records === null) metadata.fault = 'its metadata in the archive is damaged'
    for (const [key, value] of records ?? []) {
      // A map fits one file. For all that follow, each small entry would cost as much as the map.
      if (flag === 'g' && isOfSparseFile(key)) continue
      metadata.records.set(key, value)
      if (flag === 'g') this.#globals.set(key, value)
    }
  }

  *#beginEntry({ bytes, ...block }: TarBlock & { bytes: Buffer }, { records, fault }: EntryMetadata): Steps<TarEntry> {
    const header = withRecords(block, records)
    if (header.kind === 'file' && header.path.endsWith('/')) header.kind = 'directory'
    const oldMap = block.flag === OLD_SPARSE ? yield* this.#readOldMap(bytes) : null
    this.#expect(WITHOUT_CONTENT.has(block.flag) ? 0 : sizeOf(header.sizeBytes))
    let read: ReadLayout | null = null
    if (header.kind === 'file')
      read = oldMap === null ? yield* this.#readLayout(records) : oldMap.layout(oldRealSize(bytes), this.#left)
    const sparse = read !== null && 'layout' in read ? read.layout : null
    const sparseFault = read !== null && 'fault' in read ? read.fault : null
    return { ...header, sizeBytes: this.#left, fault: fault ?? sparseFault ?? faultOf(header), sparse }
  }

  /** Reads where the content of a sparse file belongs, by its records. Null for another file. */
  *#readLayout(records: ReadonlyMap<string, string>): Steps<ReadLayout | null> {
    const map = records.get(SPARSE_MAP)
    const size = (key: string): bigint | null => decodeSize(records.get(key) ?? '')
    if (map !== undefined) return (yield* this.#readRecord(map)).layout(size('GNU.sparse.size'), this.#left)
    const version = `${records.get('GNU.sparse.major') ?? ''}.${records.get('GNU.sparse.minor') ?? ''}`
    if (version === '.') return null
    if (version !== '1.0') return { fault: 'it is a sparse file of an unsupported format' }
    return (yield* this.#readMap()).layout(size('GNU.sparse.realsize'), this.#left)
  }

  /** Reads the map that a header in the old GNU format has, and the blocks that continue it. */
  *#readOldMap(header: Buffer): Steps<MapCollector> {
    const map = new MapCollector()
    addOldMap(map, header, OLD_MAP.header)
    for (let hasMore = header[482] === 1; hasMore; ) {
      const block = yield* this.#bytes(BLOCK_BYTES)
      addOldMap(map, block, OLD_MAP.more)
      hasMore = block[504] === 1
      yield* this.#pause()
    }
    return map
  }

  /** Reads a map of numbers with commas between them. */
  *#readRecord(text: string): Steps<MapCollector> {
    const map = new MapCollector()
    for (let from = 0; from <= text.length && !map.isFaulty; ) {
      const comma = text.indexOf(',', from)
      const end = comma < 0 ? text.length : comma
      map.addText(text.slice(from, end))
      from = end + 1
      yield* this.#pause()
    }
    return map
  }

  /** Reads the map that the content of a sparse file begins with, a number a line, in whole blocks. */
  *#readMap(): Steps<MapCollector> {
    const map = new MapCollector()
    let rest = ''
    // The first line says how many numbers follow.
    for (let wanted = -1; wanted !== 0 && !map.isFaulty; ) {
      yield* this.#pause()
      if (this.#left < BLOCK_BYTES || rest.length > BLOCK_BYTES) {
        map.add(null)
        break
      }
      this.#left -= BLOCK_BYTES
      const lines = (rest + (yield* this.#bytes(BLOCK_BYTES)).toString('latin1')).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        if (wanted === 0) break
        if (wanted < 0) wanted = map.begin(line)
        else {
          map.addText(line)
          wanted--
        }
      }
    }
    return map
  }

  *#pause(): Steps<void> {
    if (this.#source.mustPause()) yield 'turn'
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
      const piece = this.#isAtEnd ? null : yield* this.#source.receive()
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
  return [mode, uid, gid, modifiedSeconds].every(Number.isSafeInteger) ? null : 'its metadata in the archive is damaged'
}

// Throws for an invalid size, since it determines where the next header begins.
function sizeOf(sizeBytes: number): number {
  if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 0) throw damaged('a size in it is not a number')
  return sizeBytes
}

function isZero(block: Buffer): boolean {
  return block[0] === 0 && block.every((byte) => byte === 0)
}

function noTar(bytes: Buffer): ServiceError {
  const found = COMPRESSIONS.find(([magic]) => bytes.toString('latin1', 0, magic.length) === magic)
  if (found === undefined) return new ServiceError('invalid_request', 'The body is not a tar archive.')
  return new ServiceError('invalid_request', `The body is compressed (${found[1]}). Send an uncompressed tar.`)
}

function damaged(why: string): ServiceError {
  return new ServiceError('invalid_request', `The archive is damaged: ${why}. Entries before this were unpacked.`)
}

function truncated(): ServiceError {
  return new ServiceError('invalid_request', 'The archive ends too early. Entries before its end were unpacked.')
}

/** Flags of pax headers, for one entry or all that follow, and of GNU long names. */
const METADATA_FLAGS: ReadonlySet<string> = new Set(['x', 'X', 'g', 'L', 'K'])
/** Flags of links, devices, directories and FIFOs. Their size field does not count content. */
const WITHOUT_CONTENT: ReadonlySet<string> = new Set(['1', '2', '3', '4', '5', '6'])
/** The flag of a sparse file in the old GNU format. */
const OLD_SPARSE = 'S'
const METADATA_BYTES_MAX = 1024 * 1024
const COMPRESSIONS: readonly (readonly [string, string])[] = [
  ['\x1f\x8b', 'gzip'],
  ['BZh', 'bzip2'],
  ['\xfd7zXZ', 'xz'],
  ['\x28\xb5\x2f\xfd', 'zstd'],
]
