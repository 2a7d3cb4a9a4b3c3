import fs from 'node:fs'
import { promisify } from 'node:util'
import type { ServiceError } from '../../../shared/errors.ts'
import { LENT_BUFFERS, LENT_BYTES } from '../../../shared/http/lent-buffers.ts'
import { refusal } from '../../../shared/refusals.ts'
import { seekDataAsync } from '../../lib/syscalls/sparse.ts'
import type { TaskChannel } from '../../lib/threads/thread.ts'
import type { OpenFile } from '../../ports/files/files.ts'
import type { OnDisk } from './disk-turns.ts'
import { explainFault } from './faults.ts'
import { type RawPath, showPath } from './paths.ts'
import { type ByteSpan, HOLES_MAX, type LargeFile, type OpenSent, type SmallFile } from './reading.ts'

/** The main thread's side of `openTask`. */
type OpenChannel = TaskChannel<SmallFile, OpenSent, ByteSpan>

/** The path that errors name, and how a large file takes a slot and reads. */
interface Opening {
  path: RawPath
  acquire(): () => void
  onDisk: OnDisk
}

/** Wraps the file that a task opened. A large one takes a slot with `acquire` from its first read until its close. */
export async function openedFile(channel: OpenChannel, opening: Opening): Promise<OpenFile> {
  const large = await channel.receive()
  if (large?.act === 'opened') return largeFile(channel, large, opening)
  const { facts, bytes } = await channel.result()
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
  channel: OpenChannel,
  { facts, fd, hasHoles }: LargeFile,
  { path, acquire, onDisk }: Opening,
): OpenFile {
  let isRead = false
  async function* bytesOf(range: ByteSpan): AsyncGenerator<Uint8Array> {
    isRead = true
    try {
      if (hasHoles && range.end - range.start > HOLES_MAX && (await holeBytesOf(channel, range)) > HOLES_MAX)
        throw tooManyHoles(path, range)
      yield* readBytes(hasHoles ? readSparse : readPiece, { fd, ...range }, onDisk)
    } catch (error) {
      throw explainFault(path, error)
    } finally {
      await channel.end()
    }
  }
  return {
    facts,
    whole: null,
    read: (range) => {
      void channel.closed.then(acquire())
      return bytesOf(range)
    },
    // A read closes the file itself. If this closed it during the read, another file could reuse the descriptor's number.
    close: () => {
      if (!isRead) void channel.end()
    },
  }
}

async function holeBytesOf(channel: OpenChannel, range: ByteSpan): Promise<number> {
  await channel.send(range)
  const answer = await channel.receive()
  return answer?.act === 'counted' ? answer.holeBytes : 0
}

/**
 * Reads an open file from `start` to `end` (exclusive) on the libuv pool, one piece ahead of the reader. Throws
 * `precondition_failed` if the file has become shorter. Does not use the file any more once it has ended.
 */
async function* readBytes(
  read: typeof readPiece,
  { fd, start, end }: { fd: number; start: number; end: number },
  onDisk: OnDisk,
): AsyncGenerator<Uint8Array> {
  const begin = (from: number): Promise<Buffer> | null =>
    from >= end ? null : onDisk(() => read(fd, from, Math.min(PIECE_BYTES, end - from)))
  let position = start
  let next = begin(position)
  try {
    while (next !== null) {
      const piece = await next
      if (piece.length === 0)
        throw refusal('precondition_failed', ['The file became shorter while it was read.', 'Read it again.'])
      position += piece.length
      next = begin(position)
      yield piece
    }
  } finally {
    // The caller closes the file next.
    await next?.catch(() => undefined)
  }
}

async function readPiece(fd: number, position: number, length: number): Promise<Buffer> {
  const buffer = LENT_BUFFERS.take(length)
  let done = 0
  // A short read is the end of the file, or precedes a bad block, at which the next one fails.
  for (let count = -1; count !== 0 && done < length; done += count)
    count = (await read(fd, buffer.subarray(done), { position: position + done })).bytesRead
  return buffer.subarray(0, done)
}

/** As `readPiece`, but takes the content of a hole from one buffer of zeros, which fills no page cache. */
async function readSparse(fd: number, position: number, length: number): Promise<Buffer> {
  const end = position + length
  const dataAt = await seekDataAsync(fd, position)
  // No data follows in a hole at the end, and in a file that became shorter.
  const isHole = dataAt >= end && (dataAt < Number.POSITIVE_INFINITY || (await stat(fd)).size >= end)
  return isHole ? ZEROS.subarray(0, length) : readPiece(fd, position, length)
}

function tooManyHoles(path: RawPath, { start, end }: ByteSpan): ServiceError {
  const why = `${showPath(path)}: of the ${end - start} bytes that are asked for, more than ${HOLES_MAX} are holes, the most of one answer.`
  return refusal('body_too_large', [
    why,
    'Ask for shorter ranges (Range), or for the archive of the file, which leaves holes out.',
  ])
}

const read = promisify(fs.read) as unknown as (
  fd: number,
  buffer: Buffer,
  options: { position: number },
) => Promise<{ bytesRead: number }>
const stat = promisify(fs.fstat)
const PIECE_BYTES = LENT_BYTES
const ZEROS = Buffer.alloc(PIECE_BYTES)
