import fs from 'node:fs'
import { promisify } from 'node:util'
import { ServiceError } from '../../../shared/errors.ts'
import { seekDataAsync } from '../../lib/syscalls/sparse.ts'
import type { TaskChannel } from '../../lib/threads/thread.ts'
import type { OpenFile } from '../../ports/files/files.ts'
import type { OnDisk } from './disk-turns.ts'
import { explainFault } from './faults.ts'
import { type RawPath, showPath } from './paths.ts'
import { HOLES_MAX, type LargeFile, type SmallFile } from './reading.ts'

/** The main thread's side of `openTask`. */
type OpenChannel = TaskChannel<SmallFile, LargeFile, never>

/** The path that errors name, and how a large file takes a slot and reads. */
interface Opening {
  path: RawPath
  acquire(): () => void
  onDisk: OnDisk
}

/** Wraps the file that a task opened. A large one takes a slot with `acquire` from its first read until it is closed. */
export async function openedFile(channel: OpenChannel, opening: Opening): Promise<OpenFile> {
  const large = await channel.receive()
  if (large !== null) return largeFile(channel, large, opening)
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
  { facts, fd, holeBytes }: LargeFile,
  { path, acquire, onDisk }: Opening,
): OpenFile {
  let isRead = false
  async function* bytesOf(range: { start: number; end: number }): AsyncGenerator<Uint8Array> {
    isRead = true
    try {
      yield* readBytes(holeBytes > 0 ? readSparse : readPiece, { fd, ...range }, onDisk)
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
      if (Math.min(holeBytes, range.end - range.start) > HOLES_MAX) throw tooManyHoles(path, facts.sizeBytes, holeBytes)
      void channel.closed.then(acquire())
      return bytesOf(range)
    },
    // A read closes the file itself: closed under it, the descriptor's number could be reused.
    close: () => {
      if (!isRead) void channel.end()
    },
  }
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
        throw new ServiceError('precondition_failed', 'The file became shorter while it was read.')
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
  const buffer = Buffer.allocUnsafeSlow(length)
  let done = 0
  // A short read is the end of the file, or precedes a bad block, at which the next one fails.
  for (let count = -1; count !== 0 && done < length; done += count)
    count = (await read(fd, buffer.subarray(done), { position: position + done })).bytesRead
  return buffer.subarray(0, done)
}

/** As `readPiece`; what a hole covers is taken from one buffer of zeros, and fills no page cache. */
async function readSparse(fd: number, position: number, length: number): Promise<Buffer> {
  const isHole = (await seekDataAsync(fd, position)) >= position + length
  return isHole ? ZEROS.subarray(0, length) : readPiece(fd, position, length)
}

function tooManyHoles(path: RawPath, sizeBytes: number, holeBytes: number): ServiceError {
  const detail =
    `${showPath(path)}: it has ${sizeBytes} bytes, of which ${holeBytes} are holes, and one answer carries at most ${HOLES_MAX} bytes ` +
    'of holes. Ask for ranges of it (Range), or for its archive, which leaves holes out.'
  return new ServiceError('body_too_large', detail)
}

const read = promisify(fs.read) as unknown as (
  fd: number,
  buffer: Buffer,
  options: { position: number },
) => Promise<{ bytesRead: number }>
const PIECE_BYTES = 512 * 1024
const ZEROS = Buffer.alloc(PIECE_BYTES)
