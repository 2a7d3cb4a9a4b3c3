import fs from 'node:fs'
import { promisify } from 'node:util'
import { createGatheredPieces } from '../../../shared/http/gathered-pieces.ts'
import { syncFilesystem } from '../../lib/syscalls/descriptors.ts'
import { startWriteBack } from '../../lib/syscalls/files.ts'
import type { TaskChannel } from '../../lib/threads/thread.ts'
import type { OnDisk } from './disk-turns.ts'
import { type MainThreadTask, settleLargeFile } from './durability.ts'
import { explainFault } from './faults.ts'
import type { RawPath } from './paths.ts'

/** The main thread's side of a task that leaves work to it. */
type WritingChannel<Result> = TaskChannel<Result, MainThreadTask, 'done'>

/** Runs the main thread's part of a task, from `first` until the task ends. `bytes` fills its file. */
export async function runMainThreadTasks<Result>(
  channel: WritingChannel<Result>,
  { path, first, bytes, onDisk }: MainThreadPart,
): Promise<Result> {
  try {
    for (let task = first; task !== null; task = await channel.receive()) {
      await withExplainedFaults(path, () => runMainThreadTask(task, { bytes, onDisk }))
      await channel.send('done')
    }
    return await channel.result()
  } finally {
    await channel.end()
  }
}

interface MainThreadPart {
  path: RawPath
  first: MainThreadTask | null
  /** Content of the file, or null if the task writes none. */
  bytes: AsyncIterable<Uint8Array> | null
  onDisk: OnDisk
}

async function runMainThreadTask(
  { act, fd }: MainThreadTask,
  { bytes, onDisk }: Pick<MainThreadPart, 'bytes' | 'onDisk'>,
): Promise<void> {
  if (act === 'sync') await onDisk(() => sync(fd))
  else if (act === 'commit') await onDisk(() => syncFilesystem(fd))
  else if (act === 'settle') await onDisk(() => settleLargeFile(fd))
  else if (bytes !== null) await fillFile(fd, bytes, onDisk)
}

async function withExplainedFaults(path: RawPath, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    throw explainFault(path, error)
  }
}

/** The body of a write. It is complete if small, else a stream that begins with the bytes read ahead. */
export interface Head {
  whole: Uint8Array | null
  bytes: AsyncIterable<Uint8Array> | null
  /** Closes the source unless it was read to its end. */
  release(): Promise<void>
}

/** Reads ahead until the end or until more than `limit` bytes are there. */
export async function readHead(bytes: AsyncIterable<Uint8Array>, limit: number): Promise<Head> {
  const source = bytes[Symbol.asyncIterator]()
  const pieces = createGatheredPieces()
  let size = 0
  while (size <= limit) {
    const step = await source.next()
    if (step.done === true)
      return { whole: concat(pieces.takeAll(), size), bytes: null, release: async () => undefined }
    pieces.push(step.value)
    size += step.value.length
  }
  return { whole: null, bytes: resume(pieces.takeAll(), source), release: async () => void (await source.return?.()) }
}

// Copies into a buffer of its own, because a message to a thread clones the whole buffer below a view.
function concat(pieces: readonly Uint8Array[], size: number): Uint8Array {
  const whole = new Uint8Array(size)
  let offset = 0
  for (const piece of pieces) {
    whole.set(piece, offset)
    offset += piece.length
  }
  return whole
}

async function* resume(pieces: Uint8Array[], source: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* pieces.splice(0)
  for (let step = await source.next(); step.done !== true; step = await source.next()) yield step.value
}

/**
 * Writes all of `bytes` into an empty file, holding at most 2.5 MiB. Collects one batch while it writes the one before, and also starts
 * write-back, so that the sync at the end has little left. Throws errors of reading and writing once nothing uses the file any more.
 */
async function fillFile(fd: number, bytes: AsyncIterable<Uint8Array>, onDisk: OnDisk): Promise<void> {
  const batch = createGatheredPieces()
  let [size, position, sentTo] = [0, 0, 0]
  let writing = Promise.resolve()
  let sending: Promise<unknown> = Promise.resolve()
  const flush = async (): Promise<void> => {
    await writing
    if (position - sentTo >= SEND_BYTES) {
      const [start, length] = [sentTo, position - sentTo]
      // The sync at the end reports its failure.
      sending = sending.then(() => onDisk(() => startWriteBack(fd, start, length))).catch(() => undefined)
      sentTo = position
    }
    const [pieces, at] = [batch.takeAll(), position]
    writing = onDisk(() => writeAll(fd, pieces, at))
    // The next await throws it.
    writing.catch(() => undefined)
    position += size
    size = 0
  }
  try {
    for await (const piece of bytes) {
      batch.push(piece)
      size += piece.length
      if (size >= BATCH_BYTES) await flush()
    }
    if (size > 0) await flush()
    await writing
  } finally {
    // The caller closes the file next.
    await Promise.all([writing.catch(() => undefined), sending])
  }
}

async function writeAll(fd: number, pieces: readonly Uint8Array[], position: number): Promise<void> {
  const { bytesWritten } = await writev(fd, pieces, position)
  const size = pieces.reduce((sum, { length }) => sum + length, 0)
  if (bytesWritten === size) return
  // A nearly full disk accepts a part, and the next write fails with the reason.
  await writeAll(fd, [Buffer.concat(pieces).subarray(bytesWritten)], position + bytesWritten)
}

const sync = promisify(fs.fsync)
const writev = promisify(fs.writev) as unknown as (
  fd: number,
  pieces: readonly Uint8Array[],
  position: number,
) => Promise<{ bytesWritten: number }>
// Smaller batches cost more event loop turns. Larger ones survive young collections and cause full ones.
const BATCH_BYTES = 1024 * 1024
const SEND_BYTES = 128 * 1024 * 1024
