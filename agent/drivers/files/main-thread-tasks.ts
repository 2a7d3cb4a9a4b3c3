import fs from 'node:fs'
import { promisify } from 'node:util'
import { syncFilesystem } from '../../lib/syscalls/descriptors.ts'
import type { TaskChannel } from '../../lib/threads/thread.ts'
import { type MainThreadTask, settleLargeFile } from './durability.ts'
import { explainFault } from './faults.ts'
import { fillFile } from './filling.ts'
import type { RawPath } from './paths.ts'

/** A task that has chores, as the main thread sees it. */
type MainThreadChannel<Result> = TaskChannel<Result, MainThreadTask, 'done'>

/** Does the chores of a task, beginning with `first`, until it has ended; `bytes` is what a file is filled with. */
export async function runMainThreadTasks<Result>(
  talk: MainThreadChannel<Result>,
  { path, first, bytes }: { path: RawPath; first: MainThreadTask | null; bytes: AsyncIterable<Uint8Array> | null },
): Promise<Result> {
  try {
    for (let chore = first; chore !== null; chore = await talk.next()) {
      await explained(path, () => doChore(chore, bytes))
      await talk.say('done')
    }
    return await talk.result()
  } finally {
    await talk.end()
  }
}

async function doChore({ act, fd }: MainThreadTask, bytes: AsyncIterable<Uint8Array> | null): Promise<void> {
  if (act === 'sync') await sync(fd)
  else if (act === 'commit') await syncFilesystem(fd)
  else if (act === 'settle') await settleLargeFile(fd)
  else if (bytes !== null) await fillFile(fd, bytes)
}

async function explained(path: RawPath, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    throw explainFault(path, error)
  }
}

/** What a writer brings: all of it if that is little, else what was read of it so far and the rest. */
export interface Head {
  whole: Uint8Array | null
  bytes: AsyncIterable<Uint8Array> | null
  /** Lets go of the rest, if there is any. */
  release(): Promise<void>
}

/** Reads until it is clear whether there are more than `limit` bytes. */
export async function takeHead(bytes: AsyncIterable<Uint8Array>, limit: number): Promise<Head> {
  const source = bytes[Symbol.asyncIterator]()
  const pieces: Uint8Array[] = []
  let size = 0
  while (size <= limit) {
    const step = await source.next()
    if (step.done === true) return { whole: joined(pieces, size), bytes: null, release: async () => undefined }
    pieces.push(step.value)
    size += step.value.length
  }
  return { whole: null, bytes: goOn(pieces, source), release: async () => void (await source.return?.()) }
}

// A buffer of its own: what is sent to another thread is sent with all of the buffer it is a part of.
function joined(pieces: readonly Uint8Array[], size: number): Uint8Array {
  const whole = new Uint8Array(size)
  let place = 0
  for (const piece of pieces) {
    whole.set(piece, place)
    place += piece.length
  }
  return whole
}

async function* goOn(pieces: Uint8Array[], source: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* pieces.splice(0)
  for (let step = await source.next(); step.done !== true; step = await source.next()) yield step.value
}

const sync = promisify(fs.fsync)
