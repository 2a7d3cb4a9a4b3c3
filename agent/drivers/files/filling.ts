import fs from 'node:fs'
import { promisify } from 'node:util'
import { startWriteBack } from '../../lib/syscalls/files.ts'

/**
 * Writes all of `bytes` into an empty file, of which no more than 2.5 MiB is held: one batch is gathered while another is
 * written. What was written is sent to the disk meanwhile, so that a sync at the end finds little to do. Throws what reading or
 * writing failed of, once nothing uses the file any more.
 */
export async function fillFile(fd: number, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  let batch: Uint8Array[] = []
  let [size, position, sentTo] = [0, 0, 0]
  let writing = Promise.resolve()
  let sending: Promise<unknown> = Promise.resolve()
  const flush = async (): Promise<void> => {
    await writing
    if (position - sentTo >= SEND_BYTES) {
      const [start, length] = [sentTo, position - sentTo]
      // What fails of it the sync tells.
      sending = sending.then(() => startWriteBack(fd, start, length)).catch(() => undefined)
      sentTo = position
    }
    writing = writeAll(fd, batch, position)
    // Whoever awaits it next is told.
    writing.catch(() => undefined)
    position += size
    batch = []
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
    // Nothing may use the file when it is closed.
    await Promise.all([writing.catch(() => undefined), sending])
  }
}

async function writeAll(fd: number, pieces: readonly Uint8Array[], position: number): Promise<void> {
  const { bytesWritten } = await writev(fd, pieces, position)
  const size = pieces.reduce((sum, { length }) => sum + length, 0)
  if (bytesWritten === size) return
  // A disk that is nearly full takes a part, and says why with the next.
  await writeAll(fd, [Buffer.concat(pieces).subarray(bytesWritten)], position + bytesWritten)
}

const writev = promisify(fs.writev) as unknown as (
  fd: number,
  pieces: readonly Uint8Array[],
  position: number,
) => Promise<{ bytesWritten: number }>
// Less costs a turn of the event loop more often; of more, the pieces grow old, and the engine goes through all of the heap.
const BATCH_BYTES = 1024 * 1024
const SEND_BYTES = 128 * 1024 * 1024
