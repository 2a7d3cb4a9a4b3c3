import type { Steps, TaskIo } from '../../../lib/threads/steps.ts'

/** The bytes of an archive on their way out, a chunk of 256 KiB at a time. */
export interface ArchiveOutput {
  put(bytes: Buffer): Steps<void>
  /** Room that is free, never none, of which `took` tells how much was filled. */
  room(): Steps<Buffer>
  took(sizeBytes: number): void
  fill(zeros: number): Steps<void>
  /** Sends what is left. */
  flush(): Steps<void>
}

/** Says every chunk when it is full, as soon as the other side has heard all but a few. */
export function createArchiveOutput(io: TaskIo<Uint8Array>): ArchiveOutput {
  let chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES)
  let used = 0
  function* flush(): Steps<void> {
    if (used === 0) return
    const full = chunk.subarray(0, used)
    chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES)
    used = 0
    yield* io.say(full, [full.buffer])
  }
  const output: ArchiveOutput = {
    *put(bytes) {
      for (let done = 0; done < bytes.length; ) {
        if (used === CHUNK_BYTES) yield* flush()
        const count = bytes.copy(chunk, used, done)
        used += count
        done += count
      }
    },
    *room() {
      if (used === CHUNK_BYTES) yield* flush()
      return chunk.subarray(used)
    },
    took: (sizeBytes) => {
      used += sizeBytes
    },
    *fill(zeros) {
      for (let left = zeros; left > 0; ) {
        const room = yield* output.room()
        const count = Math.min(left, room.length)
        room.fill(0, 0, count)
        used += count
        left -= count
      }
    },
    flush,
  }
  return output
}

const CHUNK_BYTES = 256 * 1024
