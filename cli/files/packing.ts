import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { atPath, withPath } from './local-input.ts'
import type { LocalEntry } from './local-tree.ts'
import { openScannedFile } from './regular-file.ts'
import { type DataRange, findData, sparseRecords } from './sparse-files.ts'
import { encodeHeader, type Owner, paddingOf, type TarFacts } from './tar-headers.ts'

export interface Packing {
  /** The local directory above the entries. */
  root: string
  entries: readonly LocalEntry[]
  /** Prefix of each path, such as `tree/`. */
  prefix?: string
  ownerOf(path: string): Owner
  /** Called for each file that is gone or no longer a regular file. The tar omits it. */
  onGone?(path: string): void
}

/**
 * Creates a tar of the entries in pieces of about 256 KiB, with modes, and times to the millisecond. Names keep their bytes, and files with
 * holes are sparse.
 * @throws Error if a file becomes shorter during the read
 */
export async function* packEntries(packing: Packing): AsyncGenerator<Uint8Array> {
  let pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of tarOf(packing)) {
    pieces.push(piece)
    bytes += piece.length
    if (bytes < PIECE_BYTES) continue
    yield Buffer.concat(pieces)
    pieces = []
    bytes = 0
  }
  yield Buffer.concat(pieces)
}

async function* tarOf({ root, entries, prefix = '', ownerOf, onGone }: Packing): AsyncGenerator<Uint8Array> {
  for (const entry of entries) {
    const bare = `${prefix}${entry.path}`.replace(/\/$/, '')
    const name = entry.kind === 'directory' ? `${bare}/` : bare
    const facts = { ...entry, ...ownerOf(entry.path), name, sizeBytes: 0 }
    if (entry.kind !== 'file') yield encodeHeader(facts)
    else {
      const place = join(root, entry.path)
      const file = await atPath(place, openScannedFile(place))
      if (file === null) onGone?.(entry.path)
      else yield* withPath(place, packFile(file, facts, place))
    }
  }
  yield Buffer.alloc(END_BYTES)
}

/** Packs an open file, and closes it. */
async function* packFile(file: FileHandle, facts: TarFacts, place: string): AsyncGenerator<Uint8Array> {
  try {
    // Ignores bytes that are appended during the read.
    const { size, blocks } = await file.stat()
    const ranges = size - blocks * STAT_BLOCK_BYTES >= HOLES_BYTES ? await findData(file, size) : null
    if (ranges === null) {
      yield encodeHeader({ ...facts, sizeBytes: size })
      yield* bytesOf(file, { start: 0, sizeBytes: size }, place)
      yield paddingOf(size)
      return
    }
    const { name, records, map } = sparseRecords(facts.name, size, ranges)
    const dataBytes = ranges.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
    yield encodeHeader({ ...facts, name, records, sizeBytes: map.length + dataBytes })
    yield map
    for (const range of ranges) yield* bytesOf(file, range, place)
    yield paddingOf(dataBytes)
  } finally {
    await file.close()
  }
}

async function* bytesOf(file: FileHandle, { start, sizeBytes }: DataRange, place: string): AsyncGenerator<Uint8Array> {
  for (let done = 0; done < sizeBytes; ) {
    const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, sizeBytes - done))
    const { bytesRead } = await file.read(buffer, 0, buffer.length, start + done)
    if (bytesRead === 0) throw new Error(`${place} was truncated while it was being read.`)
    yield buffer.subarray(0, bytesRead)
    done += bytesRead
  }
}

const PIECE_BYTES = 256 * 1024
const READ_BYTES = 1024 * 1024
/** Two empty blocks. */
const END_BYTES = 1024
/** The unit of `blocks`. */
const STAT_BLOCK_BYTES = 512
/** A file with fewer bytes of holes is sent as a plain file. */
const HOLES_BYTES = 1024 * 1024
