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
 * Encodes the header of a sparse file and the map of its data, as pax has it in version 1.0 of GNU tar; the data itself follows, and
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
  // As GNU tar does, an empty piece at the end of the file stands for a hole there.
  const isOpen = last === undefined || last.start + BigInt(last.sizeBytes) < sizeBytes
  const all = isOpen ? [...ranges, { start: sizeBytes, sizeBytes: 0 }] : ranges
  const text = `${all.length}\n${all.map((range) => `${range.start}\n${range.sizeBytes}\n`).join('')}`
  const map = Buffer.alloc(paddedSize(text.length))
  map.write(text, 'latin1')
  return map
}

/** What an archive tells of a sparse file; `fault`: why that is unusable. */
export type ReadLayout = { layout: SparseLayout } | { fault: string }

/**
 * Checks a map: pieces in order, not beyond the end, with as many bytes as are stored. `numbers` are decimal offsets and lengths, in turn.
 * Pure.
 */
export function layoutOf(numbers: readonly string[], realSize: string, storedBytes: number): ReadLayout {
  if (numbers.length > 2 * RANGES_MAX) return { fault: TOO_MANY }
  if (numbers.length % 2 !== 0 || ![...numbers, realSize].every((text) => DIGITS.test(text))) return DAMAGED
  const sizeBytes = BigInt(realSize)
  const ranges: DataRange[] = []
  let [end, stored] = [0n, 0n]
  for (let index = 0; index < numbers.length; index += 2) {
    const [start, length] = [BigInt(numbers[index] ?? ''), BigInt(numbers[index + 1] ?? '')]
    if (start < end) return DAMAGED
    end = start + length
    stored += length
    if (length > 0n) ranges.push({ start, sizeBytes: Number(length) })
  }
  if (end > sizeBytes || sizeBytes > LONGEST || stored !== BigInt(storedBytes)) return DAMAGED
  return { layout: { sizeBytes, ranges } }
}

/** Reads the offsets and lengths that a block of an old GNU header has, up to the first empty one. Pure. */
export function oldMapOf(block: Buffer, start: number, count: number): string[] {
  const numbers: string[] = []
  for (let at = start; at < start + count * OLD_BYTES; at += OLD_BYTES) {
    if (block[at] === 0) break
    numbers.push(decodeOld(block, at), decodeOld(block, at + OLD_BYTES / 2))
  }
  return numbers
}

/** The length of a file in an old GNU header. Pure. */
export function oldRealSize(block: Buffer): string {
  return decodeOld(block, OLD_REAL_SIZE)
}

function decodeOld(block: Buffer, at: number): string {
  const field = block.subarray(at, at + OLD_BYTES / 2)
  if (((field[0] ?? 0) & 0x80) !== 0) return BigInt(`0x${field.subarray(4).toString('hex')}`).toString()
  const digits = field.toString('latin1').replace(/[\0 ].*$/s, '')
  return /^[0-7]{1,12}$/.test(digits) ? BigInt(`0o${digits}`).toString() : ''
}

/** The pieces of data of a sparse file at most: each takes memory until all of the file is read. */
export const RANGES_MAX = 65_536
/** The fault of a file with more. */
export const TOO_MANY = `it has more than ${RANGES_MAX} pieces of data between holes`
/** Of an old GNU header: where its map begins, and how many pieces it has; and of a block that follows it. */
export const OLD_MAP = { header: { start: 386, count: 4 }, more: { start: 0, count: 21 } } as const
const OLD_BYTES = 24
const OLD_REAL_SIZE = 483
const DAMAGED: ReadLayout = { fault: 'the map of its data is damaged' }
const DIGITS = /^\d{1,19}$/
/** The longest file that Linux has. */
const LONGEST = 2n ** 63n - 1n
const STAND_IN = 'GNUSparseFile.0/'
const NAME_BYTES = 80
