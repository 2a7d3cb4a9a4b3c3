import type { FileHandle } from 'node:fs/promises'
import { paddingOf } from './tar-headers.ts'

/** A piece of data between the holes of a file. */
export interface DataRange {
  start: number
  sizeBytes: number
}

/**
 * Finds the data of a file with holes by reading it. Node.js has no call that lists holes, and reading a hole is as fast as memory. Returns
 * null if the file has more pieces than a box accepts. Such a file is sent with its zeros.
 */
export async function findData(file: FileHandle, sizeBytes: number): Promise<DataRange[] | null> {
  const ranges: DataRange[] = []
  const buffer = Buffer.allocUnsafe(READ_BYTES)
  for (let at = 0; at < sizeBytes; ) {
    const { bytesRead } = await file.read(buffer, 0, Math.min(READ_BYTES, sizeBytes - at), at)
    if (bytesRead === 0) break
    // Compares a whole piece with zeros at once.
    if (bytesRead < READ_BYTES || buffer.compare(ZEROS) !== 0)
      for (let from = 0; from < bytesRead; from += GRAIN_BYTES) {
        const length = Math.min(GRAIN_BYTES, bytesRead - from)
        if (buffer.compare(ZEROS, 0, length, from, from + length) === 0) continue
        const last = ranges.at(-1)
        if (last !== undefined && last.start + last.sizeBytes === at + from) last.sizeBytes += length
        else ranges.push({ start: at + from, sizeBytes: length })
      }
    if (ranges.length > RANGES_MAX) return null
    at += bytesRead
  }
  return ranges
}

/** Returns the headers of a sparse file in version 1.0 of GNU tar: its name, pax records, and the map before its data. A pure function. */
export function sparseRecords(
  name: string,
  sizeBytes: number,
  ranges: readonly DataRange[],
): { name: string; records: Record<string, string>; map: Buffer } {
  const last = ranges.at(-1)
  const isOpen = last === undefined || last.start + last.sizeBytes < sizeBytes
  // An empty piece at the end of the file marks a hole there.
  const all = isOpen ? [...ranges, { start: sizeBytes, sizeBytes: 0 }] : ranges
  const text = Buffer.from(`${all.length}\n${all.map((range) => `${range.start}\n${range.sizeBytes}\n`).join('')}`)
  return {
    name: 'GNUSparseFile.0/file',
    records: {
      'GNU.sparse.major': '1',
      'GNU.sparse.minor': '0',
      'GNU.sparse.name': name,
      'GNU.sparse.realsize': String(sizeBytes),
    },
    map: Buffer.concat([text, paddingOf(text.length)]),
  }
}

const READ_BYTES = 1024 * 1024
/** The allocation unit of file systems. */
const GRAIN_BYTES = 4096
const ZEROS = Buffer.alloc(READ_BYTES)
/** The maximum number of pieces that a box accepts, which is `archive_file_pieces` of its limits. */
const RANGES_MAX = 65_000
