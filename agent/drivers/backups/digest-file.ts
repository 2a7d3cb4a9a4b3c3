import { createHash } from 'node:crypto'
import fs from 'node:fs'
import { promisify } from 'node:util'
import { backupOwnerOf } from '../../../shared/backup-manifest.ts'
import { openPulled, type PulledFlow } from '../../../shared/pulled-flow.ts'
import type { StoredBytes } from '../../ports/backups/store.ts'

/** Returns size and digest of the open file that holds an object of this name. Yields to the event loop between reads. */
export async function digestFile(fd: number, name: string, signal: AbortSignal | undefined): Promise<StoredBytes> {
  const flow = openPulled(backupOwnerOf(name))
  try {
    return await digestBytes(fd, flow, signal)
  } finally {
    flow.close()
  }
}

async function digestBytes(fd: number, flow: PulledFlow, signal: AbortSignal | undefined): Promise<StoredBytes> {
  const hash = createHash('sha256')
  // One buffer fills while this hashes the other.
  let [buffer, other] = [Buffer.allocUnsafe(READ_BYTES), Buffer.allocUnsafe(READ_BYTES)]
  let sizeBytes = 0
  let reading = read(fd, buffer, 0, READ_BYTES, 0)
  try {
    for (;;) {
      const { bytesRead } = await reading
      signal?.throwIfAborted()
      if (bytesRead === 0) return { sizeBytes, sha256: hash.digest('hex') }
      sizeBytes += bytesRead
      reading = read(fd, other, 0, READ_BYTES, sizeBytes)
      // It may fail while this waits for a turn. The next `await` throws the error.
      reading.catch(() => undefined)
      const turn = flow.take(bytesRead)
      if (turn !== null) await turn
      signal?.throwIfAborted()
      hash.update(buffer.subarray(0, bytesRead))
      ;[buffer, other] = [other, buffer]
    }
  } finally {
    // The caller closes the file next.
    await reading.catch(() => undefined)
  }
}

/** Bytes of a read, which one turn of the event loop hashes. */
export const READ_BYTES = 256 * 1024
const read = promisify(fs.read)
