import { createReadStream } from 'node:fs'
import { type FileHandle, open, readFile, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { ApiError } from '../../sdk/typescript/src/api-error.ts'
import type { BoxHandle, Boxyard } from '../../sdk/typescript/src/boxyard.ts'
import { pathFields } from '../../sdk/typescript/src/byte-names.ts'
import { formatMode } from '../files/remote-path.ts'
import { type BoxFile, type BoxFiles, type FileChange, FileError } from './box-files.ts'

/** A file of a box that a client has open. @throws ApiError, ConnectionError, FileError */
export interface OpenBoxFile {
  /** Returns up to `length` bytes, fewer only at the end of the file. */
  read(offset: number, length: number): Promise<Uint8Array>
  write(offset: number, bytes: Uint8Array): Promise<void>
  stat(): Promise<BoxFile & { size_bytes: number }>
  change(change: FileChange): Promise<void>
  /** Closes it. If it was written, the file then has the new content, whole and durable. */
  close(): Promise<void>
  /** Closes it without sending, so that the file stays unchanged. */
  leave(): Promise<void>
  /** Creates the file in the box if it was opened for this and does not exist yet, so that requests for its path find it. */
  appear(): Promise<void>
}

/**
 * Opens a file to read. Its bytes come as one stream. Restarts the stream if a client seeks elsewhere, or if the stream broke off and the
 * file is still the same.
 */
export async function openToRead(
  { boxyard, box }: { boxyard: Boxyard; box: BoxHandle },
  files: BoxFiles,
  path: string,
): Promise<OpenBoxFile> {
  const at = { project: box.project, name: box.name }
  const begin = async (offset: number): Promise<ByteCursor> => {
    const headers: Record<string, string> = offset === 0 ? {} : { range: `bytes=${offset}-` }
    try {
      const response = await boxyard.transfer('readFile', { path: at, query: pathFields(path), headers })
      return cursorOf(response.body ?? new Blob([]).stream(), offset, response.headers.get('etag'))
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 'range_not_satisfiable')) throw error
      return cursorOf(new Blob([]).stream(), offset, null)
    }
  }
  let cursor = await begin(0)
  const goTo = async (offset: number): Promise<void> => {
    const ahead = offset - cursor.offset()
    if (ahead >= 0 && ahead <= SKIPPED_MAX_BYTES) return void (await cursor.take(ahead))
    cursor.close()
    cursor = await begin(offset)
  }
  return {
    read: async (offset, length) => {
      try {
        await goTo(offset)
        return await cursor.take(length)
      } catch (error) {
        if (error instanceof ApiError) throw error
        const broken = cursor
        cursor = await begin(offset)
        if (cursor.etag !== broken.etag) throw error
        return cursor.take(length)
      }
    },
    write: () => Promise.reject(new FileError('denied', 'The file is open for reading only.')),
    stat: async () => (await files.follow(path)).file,
    change: (change) => files.change(path, change),
    close: async () => cursor.close(),
    leave: async () => cursor.close(),
    appear: async () => undefined,
  }
}

export interface WriteOpening {
  path: string
  /** Permission bits for a new file. */
  mode: number
  /** Whether the file was just created, keeps its content, or is replaced whole and created if it does not exist. */
  content: 'new' | 'kept' | 'replaced'
  /** Whether all writes append. */
  isAppended: boolean
  /** Local file that buffers the bytes. */
  draftPath: string
}

/**
 * Opens a file to write, or to read and write. Clients write pieces anywhere, but the API takes whole files. Buffers the bytes on local
 * disk, and sends them when the file is closed. Replacing a small file takes one request, which also creates it.
 */
export async function openToWrite(box: BoxHandle, files: BoxFiles, opening: WriteOpening): Promise<OpenBoxFile> {
  const { path, content, isAppended, draftPath } = opening
  const draft = await open(draftPath, 'wx+', 0o600)
  try {
    if (content === 'kept') await fill(draft, await box.readFile(path))
  } catch (error) {
    await discard(draft, draftPath)
    throw error
  }
  let isChanged = content === 'replaced'
  let isThere = content !== 'replaced'
  let mode: number | undefined
  let later: FileChange = {}
  const sizeOf = async (): Promise<number> => (await draft.stat()).size
  const appear = async (): Promise<void> => {
    if (isThere) return
    if (!(await files.create(path, opening.mode))) await files.checkFile(path)
    isThere = true
  }
  const send = async (sizeBytes: number): Promise<void> => {
    if (!isThere && sizeBytes <= HELD_MAX_BYTES)
      return files.put(path, await readFile(draftPath), { made: mode ?? opening.mode, kept: mode })
    await appear()
    const bytes = await bytesOf(draftPath, sizeBytes)
    await box.writeFile(path, bytes, mode === undefined ? {} : { mode: formatMode(mode) })
  }
  return {
    appear,
    read: async (offset, length) => {
      const bytes = Buffer.alloc(Math.min(length, Math.max(0, (await sizeOf()) - offset)))
      const { bytesRead } = await draft.read(bytes, 0, bytes.length, offset)
      return bytes.subarray(0, bytesRead)
    },
    write: async (offset, bytes) => {
      isChanged = true
      const at = isAppended ? await sizeOf() : offset
      // Reports a fault of its path before the rest of a large file arrives.
      if (at + bytes.length > TOLD_EARLY_BYTES) await appear()
      await writeAll(draft, bytes, at)
    },
    stat: async () => {
      await appear()
      return { ...(await files.follow(path)).file, size_bytes: await sizeOf() }
    },
    change: async (change) => {
      const { sizeBytes, mode: wanted, ...others } = change
      if (sizeBytes !== undefined) {
        isChanged = true
        await draft.truncate(sizeBytes)
      }
      if (wanted !== undefined) mode = wanted
      later = { ...later, ...others }
    },
    close: async () => {
      try {
        if (isChanged) await send(await sizeOf())
        await files.change(path, isChanged ? later : { ...later, mode })
      } finally {
        await discard(draft, draftPath)
      }
    },
    leave: () => discard(draft, draftPath),
  }
}

/** Returns a small file as bytes, which can be resent. Holds only pieces of a larger one. */
async function bytesOf(path: string, sizeBytes: number): Promise<Uint8Array | ReadableStream<Uint8Array>> {
  if (sizeBytes <= HELD_MAX_BYTES) return readFile(path)
  return Readable.toWeb(createReadStream(path, { highWaterMark: PIECE_BYTES })) as ReadableStream<Uint8Array>
}

async function fill(draft: FileHandle, bytes: ReadableStream<Uint8Array>): Promise<void> {
  let offset = 0
  for await (const piece of bytes) {
    await writeAll(draft, piece, offset)
    offset += piece.length
  }
}

async function writeAll(file: FileHandle, bytes: Uint8Array, offset: number): Promise<void> {
  for (let done = 0; done < bytes.length; )
    done += (await file.write(bytes, done, bytes.length - done, offset + done)).bytesWritten
}

async function discard(draft: FileHandle, path: string): Promise<void> {
  await draft.close()
  await rm(path, { force: true })
}

/** A stream with reads by length. */
interface ByteCursor {
  /** Entity tag of the file, or null after its end. */
  readonly etag: string | null
  offset(): number
  /** Returns the next bytes, with fewer only at the end. */
  take(length: number): Promise<Uint8Array>
  close(): void
}

function cursorOf(stream: ReadableStream<Uint8Array>, start: number, etag: string | null): ByteCursor {
  const reader = stream.getReader()
  let at = start
  let rest: Uint8Array = new Uint8Array(0)
  return {
    etag,
    offset: () => at,
    take: async (length) => {
      const pieces: Uint8Array[] = []
      let missing = length
      while (missing > 0) {
        if (rest.length === 0) {
          const { done, value } = await reader.read()
          if (done) break
          rest = value
        }
        const piece = rest.subarray(0, missing)
        rest = rest.subarray(piece.length)
        missing -= piece.length
        pieces.push(piece)
      }
      at += length - missing
      return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces)
    },
    close: () => void reader.cancel().catch(() => undefined),
  }
}

/** Reads and discards up to this many skipped bytes instead of starting another request. */
const SKIPPED_MAX_BYTES = 1024 * 1024
const HELD_MAX_BYTES = 4 * 1024 * 1024
const TOLD_EARLY_BYTES = 256 * 1024
const PIECE_BYTES = 256 * 1024
