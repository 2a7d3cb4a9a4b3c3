import { createReadStream, realpathSync, statSync } from 'node:fs'
import { posix } from 'node:path'
import type { BoxHandle, Boxyard } from '../../sdk/typescript/src/boxyard.ts'
import { type Meter, metered } from '../output/meter.ts'
import { describeLocal, scanTree } from './local-tree.ts'
import { describeRemote, formatMode } from './remote-path.ts'
import { unpackIn } from './unpacking.ts'

/** Where something is sent to. */
export interface UploadTarget {
  boxyard: Boxyard
  box: BoxHandle
  /** Absolute path in the box. */
  path: string
  meter: Meter
}

/** Sends a file with its mode, or what comes on stdin (null): the box has all of it, or what it had before. */
export async function sendFile(
  { box, path, meter }: Omit<UploadTarget, 'boxyard'>,
  from: string | null,
): Promise<void> {
  if (from === null) {
    await box.writeFile(path, ReadableStream.from(metered(process.stdin, meter)), { parents: 'true' })
    return
  }
  const found = statSync(from)
  // Files of /proc hold more than they tell, and pipes tell nothing.
  const sizeBytes = found.isFile() && found.size > 0 ? found.size : null
  const end = sizeBytes === null ? {} : { end: sizeBytes - 1 }
  const input = createReadStream(from, { highWaterMark: READ_BYTES, ...end })
  const stream = ReadableStream.from(metered(sizeBytes === null ? input : exactly(input, sizeBytes, from), meter))
  const body = sizeBytes === null ? stream : { stream, sizeBytes }
  await box.writeFile(path, body, { parents: 'true', mode: formatMode(found.mode) })
}

/** Passes on what comes. @throws Error if it ends before so many bytes */
async function* exactly(
  pieces: AsyncIterable<Uint8Array>,
  sizeBytes: number,
  from: string,
): AsyncGenerator<Uint8Array> {
  let left = sizeBytes
  for await (const piece of pieces) {
    left -= piece.length
    yield piece
  }
  if (left > 0) throw new Error(`${from} was cut while it was sent`)
}

/**
 * Sends a directory with modes and times, as files of root. Each file comes whole or not at all; those before an interruption stay.
 * A directory that is there keeps its mode. @throws Error if the box refused an entry
 */
export async function sendTree({ boxyard, box, path, meter }: UploadTarget, from: string): Promise<void> {
  const place = { project: box.project, name: box.name }
  const isThere = (await describeRemote(boxyard, place, path)) !== null
  const into = isThere ? path : posix.dirname(path)
  if (!isThere) await boxyard.call('makeDirectory', { path: place, body: { path: into, parents: true } })
  // A link to a directory stands for it.
  const root = realpathSync(from)
  const itself = isThere ? null : describeLocal(root, '')
  const entries = [...(itself === null ? [] : [itself]), ...(await scanTree(root))]
  const prefix = isThere ? '' : `${posix.basename(path)}/`
  // Loaded when it is needed: most verbs start without it.
  const { packEntries } = await import('./packing.ts')
  const archive = packEntries({ root, entries, prefix, ownerOf: () => ({ uid: 0, gid: 0 }) })
  await unpackIn(box, into, ReadableStream.from(metered(archive, meter)))
}

const READ_BYTES = 1024 * 1024
