import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { type Header, type Pack, pack } from 'tar-stream'
import type { LocalEntry } from './local-tree.ts'
import { openScannedFile } from './regular-file.ts'

export interface Packing {
  /** The directory of this machine that the entries are below. */
  root: string
  entries: readonly LocalEntry[]
  /** Stands before the path of each, such as `tree/`. */
  prefix?: string
  ownerOf(path: string): Owner
  /** Called for each file that is gone by now, or no regular file any more, which is left out. */
  onGone?(path: string): void
}

/** Owner and group, as numbers of the box. */
export interface Owner {
  uid: number
  gid: number
}

/**
 * Makes a tar of the entries, with modes, and times to the millisecond, in pieces of some 256 KiB.
 * @throws Error if a file becomes shorter while it is read
 */
export async function* packEntries(packing: Packing): AsyncGenerator<Uint8Array> {
  const archive = pack()
  const written = writeEntries(archive, packing)
  written.catch((error: Error) => archive.destroy(error))
  let pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of archive as AsyncIterable<Uint8Array>) {
    pieces.push(piece)
    bytes += piece.length
    if (bytes < PIECE_BYTES) continue
    yield Buffer.concat(pieces)
    pieces = []
    bytes = 0
  }
  await written
  yield Buffer.concat(pieces)
}

async function writeEntries(archive: Pack, { root, entries, prefix = '', ownerOf, onGone }: Packing): Promise<void> {
  for (const entry of entries) {
    const name = `${prefix}${entry.path}`.replace(/\/$/, '')
    const header = { ...headerOf(entry, ownerOf(entry.path)), name: entry.kind === 'directory' ? `${name}/` : name }
    if (entry.kind !== 'file') archive.entry(header)
    else if (!(await writeFile(archive, header, { place: join(root, entry.path), entry }))) onGone?.(entry.path)
  }
  archive.finalize()
}

/** Returns false for a file that is gone. */
async function writeFile(
  archive: Pack,
  header: NamedFacts,
  { place, entry }: { place: string; entry: LocalEntry },
): Promise<boolean> {
  const file = await openScannedFile(place)
  if (file === null) return false
  try {
    if (entry.sizeBytes > WHOLE_BYTES) await writeContent(archive, header, { place, file })
    else await writeWhole(archive, header, await file.readFile())
    return true
  } finally {
    await file.close()
  }
}

function writeWhole(archive: Pack, header: NamedFacts, content: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    archive.entry({ ...header, size: content.length }, content, (error) => {
      if (error) reject(error)
      else resolve()
    })
  })
}

async function writeContent(
  archive: Pack,
  header: NamedFacts,
  { place, file }: { place: string; file: FileHandle },
): Promise<void> {
  const { size } = await file.stat()
  const sink = archive.entry({ ...header, size })
  const ended = new Promise<void>((resolve, reject) => {
    sink.once('finish', () => resolve())
    sink.once('error', reject)
  })
  // Bytes that are added meanwhile are for the next time.
  const source = file.createReadStream({ end: size - 1, highWaterMark: READ_BYTES, autoClose: false })
  let left = size
  for await (const piece of source as AsyncIterable<Buffer>) {
    left -= piece.length
    if (!sink.write(piece)) await new Promise<void>((resolve) => sink.once('drain', () => resolve()))
  }
  if (left > 0) throw new Error(`${place} became shorter while it was read.`)
  sink.end(null)
  await ended
}

function headerOf({ kind, mode, modifiedMs, target }: LocalEntry, { uid, gid }: Owner): TarFacts {
  // Only an extended header tells milliseconds.
  const pax = { mtime: (modifiedMs / 1000).toFixed(3) }
  // Of a mode without any bit the library would make its default one.
  const header = { type: kind, mode: mode | IS_SET, uid, gid, size: 0, mtime: new Date(modifiedMs) }
  return { ...header, pax, ...(target === null ? {} : { linkname: target }) }
}

/** What a header tells of an entry. */
type TarFacts = Partial<Header>
type NamedFacts = TarFacts & Pick<Header, 'name'>

/** A bit beyond those that a header holds. */
const IS_SET = 0o100000
const PIECE_BYTES = 256 * 1024
const READ_BYTES = 1024 * 1024
/** Files up to this size are read at once. */
const WHOLE_BYTES = 1024 * 1024
