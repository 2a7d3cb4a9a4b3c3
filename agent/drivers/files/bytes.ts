import fs from 'node:fs'
import { promisify } from 'node:util'
import { ServiceError } from '../../../shared/errors.ts'
import type { TaskChannel } from '../../lib/threads/thread.ts'
import type { OpenFile } from '../../ports/files/files.ts'
import { explainFault } from './faults.ts'
import type { RawPath } from './paths.ts'
import type { LargeFile, SmallFile } from './reading.ts'

/** A task that opens a file, as the main thread sees it. */
type OpenTalk = TaskChannel<SmallFile, LargeFile, never>

/** The file that a task opened. A large one is counted by `enter` from when it is read until it is closed. */
export async function openedFile(
  talk: OpenTalk,
  { path, enter }: { path: RawPath; enter(): () => void },
): Promise<OpenFile> {
  const large = await talk.next()
  if (large !== null) return largeFile(talk, large, { path, enter })
  const { facts, bytes } = await talk.result()
  return {
    facts,
    whole: bytes,
    async *read({ start, end }) {
      if (start < end) yield bytes.subarray(start, end)
    },
    close: () => undefined,
  }
}

function largeFile(
  talk: OpenTalk,
  { facts, fd }: LargeFile,
  { path, enter }: { path: RawPath; enter(): () => void },
): OpenFile {
  let isRead = false
  async function* bytesOf(range: { start: number; end: number }): AsyncGenerator<Uint8Array> {
    isRead = true
    try {
      yield* readBytes(fd, range)
    } catch (error) {
      throw explainFault(path, error)
    } finally {
      await talk.end()
    }
  }
  return {
    facts,
    whole: null,
    read: (range) => {
      void talk.gone.then(enter())
      return bytesOf(range)
    },
    // Another file may have the number of a descriptor that is closed under a read.
    close: () => {
      if (!isRead) void talk.end()
    },
  }
}

/**
 * The bytes of an open file from `start` to `end` (not included), read by the threads that Node keeps for that, one piece
 * ahead of the reader. Throws `precondition_failed` if the file is shorter by now. The file may be closed once it has ended.
 */
async function* readBytes(fd: number, { start, end }: { start: number; end: number }): AsyncGenerator<Uint8Array> {
  const begin = (from: number): Promise<Buffer> | null =>
    from >= end ? null : readPiece(fd, from, Math.min(PIECE_BYTES, end - from))
  let position = start
  let next = begin(position)
  try {
    while (next !== null) {
      const piece = await next
      if (piece.length === 0)
        throw new ServiceError('precondition_failed', 'The file became shorter while it was read.')
      position += piece.length
      next = begin(position)
      yield piece
    }
  } finally {
    // Nothing may be reading when the file is closed.
    await next?.catch(() => undefined)
  }
}

async function readPiece(fd: number, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(length)
  let done = 0
  // What ends before its time ends with the file, or at a block that cannot be read: then the next look fails.
  for (let count = -1; count !== 0 && done < length; done += count)
    count = (await read(fd, buffer.subarray(done), { position: position + done })).bytesRead
  return buffer.subarray(0, done)
}

const read = promisify(fs.read) as unknown as (
  fd: number,
  buffer: Buffer,
  options: { position: number },
) => Promise<{ bytesRead: number }>
const PIECE_BYTES = 512 * 1024
