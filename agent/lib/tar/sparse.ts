import { encodeTarHeader, paddedSize, type WrittenHeader } from './headers.ts'

/** A piece of data between the holes of a file. */
export interface DataRange {
  start: bigint
  sizeBytes: number
}

/** A file with holes: its length, and its data in order. */
export interface SparseLayout {
  sizeBytes: bigint
  ranges: readonly DataRange[]
}

/**
 * Encodes the header of a sparse file and the map of its data, as pax has it in version 1.0 of GNU tar. The data itself follows, and
 * zeros up to a whole block. A program that does not know the form sees a file `GNUSparseFile.0/NAME`. Pure.
 */
export function encodeSparseHeader(header: WrittenHeader, layout: SparseLayout): { bytes: Buffer; padding: number } {
  const map = encodeMap(layout)
  const dataBytes = layout.ranges.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
  const stored = map.length + dataBytes
  const name = header.path.slice(header.path.lastIndexOf('/') + 1, header.path.length)
  const head = encodeTarHeader({
    ...{ ...header, path: `${STAND_IN}${name.slice(0, NAME_BYTES)}`, sizeBytes: stored },
    records: {
      'GNU.sparse.major': '1',
      'GNU.sparse.minor': '0',
      'GNU.sparse.name': header.path,
      'GNU.sparse.realsize': String(layout.sizeBytes),
    },
  })
  return { bytes: Buffer.concat([head, map]), padding: paddedSize(dataBytes) - dataBytes }
}

function encodeMap({ sizeBytes, ranges }: SparseLayout): Buffer {
  const last = ranges.at(-1)
  // As in GNU tar, an empty piece at the end of the file marks a hole there.
  const isOpen = last === undefined || last.start + BigInt(last.sizeBytes) < sizeBytes
  const all = isOpen ? [...ranges, { start: sizeBytes, sizeBytes: 0 }] : ranges
  const text = `${all.length}\n${all.map((range) => `${range.start}\n${range.sizeBytes}\n`).join('')}`
  const map = Buffer.alloc(paddedSize(text.length))
  map.write(text, 'latin1')
  return map
}

/** The layout of a sparse file in an archive. `fault`: why it is unusable. */
export type ReadLayout = { layout: SparseLayout } | { fault: string }

/**
 * Collects the map of a sparse file, number by number. Each piece of data has an offset and a length. Checks that the pieces are in
 * order, not beyond the end, and as long as what is stored. Holds at most 65,536 pieces.
 */
export class MapCollector {
  readonly #ranges: DataRange[] = []
  #pieces = 0
  #offset: bigint | null = null
  #end = 0n
  #storedBytes = 0n
  #fault: { fault: string } | null = null

  /** True once no further number can make the map usable. */
  get isFaulty(): boolean {
    return this.#fault !== null
  }

  /** Takes how many pieces follow, in decimal. Returns how many numbers to add. */
  begin(text: string): number {
    if (!DIGITS.test(text)) this.#fault = DAMAGED
    else if (Number(text) > RANGES_MAX) this.#fault = { fault: TOO_MANY }
    return this.isFaulty ? 0 : 2 * Number(text)
  }

  /** Takes the next number, in decimal. */
  addText(text: string): void {
    this.add(decodeSize(text))
  }

  /** Takes the next number. Null marks a damaged one. */
  add(number: bigint | null): void {
    if (number === null) this.#fault ??= DAMAGED
    if (number === null || this.isFaulty) return
    if (this.#offset === null) this.#offset = number
    else {
      this.#addPiece(this.#offset, number)
      this.#offset = null
    }
  }

  /** Returns the layout of a file of `sizeBytes`, with `storedBytes` in the archive. Null marks a damaged size. */
  layout(sizeBytes: bigint | null, storedBytes: number): ReadLayout {
    if (this.#fault !== null) return this.#fault
    if (sizeBytes === null || sizeBytes > LONGEST || this.#end > sizeBytes) return DAMAGED
    if (this.#offset !== null || this.#storedBytes !== BigInt(storedBytes)) return DAMAGED
    return { layout: { sizeBytes, ranges: this.#ranges } }
  }

  #addPiece(start: bigint, length: bigint): void {
    this.#pieces++
    if (this.#pieces > RANGES_MAX) this.#fault = { fault: TOO_MANY }
    else if (start < this.#end) this.#fault = DAMAGED
    else {
      this.#end = start + length
      this.#storedBytes += length
      if (length > 0n) this.#ranges.push({ start, sizeBytes: Number(length) })
    }
  }
}

/** Decodes a size in decimal. Null if it is damaged. Pure. */
export function decodeSize(text: string): bigint | null {
  return DIGITS.test(text) ? BigInt(text) : null
}

/** Takes the offsets and lengths that a block of an old GNU header has, up to the first empty one. */
export function addOldMap(map: MapCollector, block: Buffer, { start, count }: { start: number; count: number }): void {
  for (let at = start; at < start + count * OLD_BYTES; at += OLD_BYTES) {
    if (block[at] === 0) break
    map.add(decodeOld(block, at))
    map.add(decodeOld(block, at + OLD_BYTES / 2))
  }
}

/** The length of a file in an old GNU header. Null if it is damaged. Pure. */
export function oldRealSize(block: Buffer): bigint | null {
  return decodeOld(block, OLD_REAL_SIZE)
}

function decodeOld(block: Buffer, at: number): bigint | null {
  const field = block.subarray(at, at + OLD_BYTES / 2)
  if (((field[0] ?? 0) & 0x80) !== 0) return BigInt(`0x${field.subarray(4).toString('hex')}`)
  const digits = field.toString('latin1').replace(/[\0 ].*$/s, '')
  return /^[0-7]{1,12}$/.test(digits) ? BigInt(`0o${digits}`) : null
}

/** The most pieces of data of a sparse file. Each takes memory until all of the file is read. */
export const RANGES_MAX = 65_536
/** The fault of a file with more. */
export const TOO_MANY = `it has more than ${RANGES_MAX} pieces of data between holes`
/** Where the map of an old GNU header begins, and how many pieces it has. The same for a block that follows it. */
export const OLD_MAP = { header: { start: 386, count: 4 }, more: { start: 0, count: 21 } } as const
const OLD_BYTES = 24
const OLD_REAL_SIZE = 483
const DAMAGED = { fault: 'the map of its data is damaged' }
const DIGITS = /^\d{1,19}$/
/** The longest file that Linux has. */
const LONGEST = 2n ** 63n - 1n
const STAND_IN = 'GNUSparseFile.0/'
const NAME_BYTES = 80
