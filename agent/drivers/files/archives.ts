import { syncFilesystem } from '../../lib/syscalls/descriptors.ts'
import type { TaskChannel } from '../../lib/threads/thread.ts'
import type { UnpackReport } from '../../ports/files/files.ts'
import type { PruneSent } from './archive/prune.ts'
import type { UnpackedTree } from './archive/refusals.ts'
import type { UnpackReceived, UnpackSent } from './archive/unpack.ts'
import { explainFault } from './faults.ts'
import type { RawPath } from './paths.ts'

/**
 * Returns the archive that a task sends, once its first bytes are there. Throws if the task fails before. Ends the task when the reader
 * stops. Calls `onEnd` at least once, when the archive ends or fails, or the reader stops.
 */
export async function packedBytes(
  channel: TaskChannel<null, Uint8Array, never>,
  onEnd: () => void,
): Promise<AsyncIterable<Uint8Array>> {
  const first = channel.receive()
  await first
  let isFirst = true
  const next = async (): Promise<IteratorResult<Uint8Array>> => {
    try {
      const chunk = await (isFirst ? first : channel.receive())
      isFirst = false
      if (chunk !== null) return { done: false, value: chunk }
    } catch (error) {
      onEnd()
      throw error
    }
    onEnd()
    return DONE
  }
  // Not a generator, because one that is closed before its first step runs no `finally`.
  const close = async (): Promise<IteratorResult<Uint8Array>> => {
    await channel.end()
    onEnd()
    return DONE
  }
  return { [Symbol.asyncIterator]: () => ({ next, return: close, throw: close }) }
}

/** The main thread's side of `unpackTask`. */
export type UnpackChannel = TaskChannel<UnpackedTree, UnpackSent, UnpackReceived>

/** Feeds `source` to a task that is ready, and syncs the disks it wrote to. */
export async function unpackBytes(
  channel: UnpackChannel,
  { path, source }: { path: RawPath; source: AsyncIterable<Uint8Array> },
): Promise<UnpackReport> {
  try {
    for await (const bytes of inChunks(source)) await channel.send(bytes, [bytes.buffer])
    await channel.send(null)
    for (let message = await channel.receive(); message !== null; message = await channel.receive()) {
      if (message.act !== 'sync') continue
      await syncFilesystem(message.fd)
      await channel.send('synced')
    }
    const { entries, refused, refusedCount } = await channel.result()
    const paths = refused.map(({ path: raw, reason }) => ({ path: Buffer.from(raw, 'latin1'), reason }))
    return { entries, refused: paths, refusedCount }
  } catch (error) {
    throw explainFault(path, error)
  } finally {
    await channel.end()
  }
}

/** The main thread's side of `pruneTask`. */
export type PruneChannel = TaskChannel<{ removed: number }, PruneSent, Uint8Array | null>

/** Feeds the layer `source` to a task that is ready. */
export async function pruneBytes(
  channel: PruneChannel,
  { path, source }: { path: RawPath; source: AsyncIterable<Uint8Array> },
): Promise<void> {
  try {
    for await (const bytes of inChunks(source)) await channel.send(bytes, [bytes.buffer])
    await channel.send(null)
    await channel.result()
  } catch (error) {
    throw explainFault(path, error)
  } finally {
    await channel.end()
  }
}

/** Cuts `source` into chunks with buffers of their own, to transfer them without a copy. */
async function* inChunks(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let chunk = newChunk()
  let used = 0
  for await (const bytes of source) {
    for (let done = 0; done < bytes.length; ) {
      const part = bytes.subarray(done, done + CHUNK_BYTES - used)
      chunk.set(part, used)
      used += part.length
      done += part.length
      if (used < CHUNK_BYTES) continue
      yield chunk
      chunk = newChunk()
      used = 0
    }
  }
  if (used > 0) yield chunk.subarray(0, used)
}

function newChunk(): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.allocUnsafeSlow(CHUNK_BYTES).buffer)
}

const CHUNK_BYTES = 256 * 1024
const DONE = { done: true, value: undefined } as const
