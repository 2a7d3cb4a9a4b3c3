import { type FileHandle, open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Header, type Pack, pack } from 'tar-stream'
import type { LocalEntry } from './local-tree.ts'

export interface Packing {
  /** The directory of this machine that the entries are below. */
  root: string
  entries: readonly LocalEntry[]
  /** Stands before the path of each, such as `tree/`. */
  prefix?: string
  ownerOf(path: string): Owner
  /** Told of each file that is gone by now, which is left out. */
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
    try {
      await writeEntry(archive, header, { place: join(root, entry.path), entry })
    } catch (error) {
      if (!(typeof error === 'object' && error !== null && 'code' in error && error.code === 'ENOENT')) throw error
      onGone?.(entry.path)
    }
  }
  archive.finalize()
}

async function writeEntry(
  archive: Pack,
  header: NamedFacts,
  { place, entry }: { place: string; entry: LocalEntry },
): Promise<void> {
  if (entry.kind !== 'file') return void archive.entry(header)
  if (entry.sizeBytes <= WHOLE_BYTES) {
    const content = await readFile(place)
    return new Promise((resolve, reject) => {
      archive.entry({ ...header, size: content.length }, content, (error) => {
        if (error) reject(error)
        else resolve()
      })
    })
  }
  const file = await open(place)
  try {
    await writeContent(archive, header, { place, file })
  } finally {
    await file.close()
  }
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
