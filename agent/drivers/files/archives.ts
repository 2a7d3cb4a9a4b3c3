import { syncFilesystem } from '../../lib/syscalls/descriptors.ts'
import type { TaskChannel } from '../../lib/threads/thread.ts'
import type { UnpackReport } from '../../ports/files/files.ts'
import type { PruneSent } from './archive/prune.ts'
import type { UnpackedTree } from './archive/report.ts'
import type { UnpackReceived, UnpackSent } from './archive/unpack.ts'
import { explainFault } from './faults.ts'
import type { RawPath } from './paths.ts'

/**
 * The archive that a task says, from its first bytes on; the task ends when the reader leaves. Throws if there are none; else
 * `onEnd` is called at the end of the archive, when it fails, and when the reader has left: at least once.
 */
export async function packedBytes(
  talk: TaskChannel<null, Uint8Array, never>,
  onEnd: () => void,
): Promise<AsyncIterable<Uint8Array>> {
  const first = talk.next()
  await first
  let isFirst = true
  const next = async (): Promise<IteratorResult<Uint8Array>> => {
    try {
      const chunk = await (isFirst ? first : talk.next())
      isFirst = false
      if (chunk !== null) return { done: false, value: chunk }
    } catch (error) {
      onEnd()
      throw error
    }
    onEnd()
    return DONE
  }
  // No generator: one that is given up before its first step does nothing at its end.
  const leave = async (): Promise<IteratorResult<Uint8Array>> => {
    await talk.end()
    onEnd()
    return DONE
  }
  return { [Symbol.asyncIterator]: () => ({ next, return: leave, throw: leave }) }
}

/** A task that unpacks, as the main thread sees it. */
export type UnpackChannel = TaskChannel<UnpackedTree, UnpackSent, UnpackReceived>

/** Has a task, which has said that it is ready, unpack what `source` brings, and what it made synced. */
export async function unpackBytes(
  talk: UnpackChannel,
  { path, source }: { path: RawPath; source: AsyncIterable<Uint8Array> },
): Promise<UnpackReport> {
  try {
    for await (const bytes of inChunks(source)) await talk.say(bytes, [bytes.buffer])
    await talk.say(null)
    for (let said = await talk.next(); said !== null; said = await talk.next()) {
      if (said.act !== 'sync') continue
      await syncFilesystem(said.fd)
      await talk.say('synced')
    }
    const { entries, refused, refusedCount } = await talk.result()
    const told = refused.map(({ path: raw, reason }) => ({ path: Buffer.from(raw, 'latin1'), reason }))
    return { entries, refused: told, refusedCount }
  } catch (error) {
    throw explainFault(path, error)
  } finally {
    await talk.end()
  }
}

/** A task that removes what a layer takes away, as the main thread sees it. */
export type PruneChannel = TaskChannel<{ removed: number }, PruneSent, Uint8Array | null>

/** Has a task, which has said that it is ready, remove what the layer that `source` brings takes away. */
export async function pruneBytes(
  talk: PruneChannel,
  { path, source }: { path: RawPath; source: AsyncIterable<Uint8Array> },
): Promise<void> {
  try {
    for await (const bytes of inChunks(source)) await talk.say(bytes, [bytes.buffer])
    await talk.say(null)
    await talk.result()
  } catch (error) {
    throw explainFault(path, error)
  } finally {
    await talk.end()
  }
}

/** The bytes of `source` in chunks that nobody else has, so that they can be given away uncopied. */
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
