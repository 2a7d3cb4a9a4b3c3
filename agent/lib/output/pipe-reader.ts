import { Socket } from 'node:net'

/**
 * Yields the bytes written to the pipe `fd`, in chunks of up to 1 MiB, reading ahead of the consumer by up to `aheadBytes` plus
 * one chunk. Closes `fd` at the end, or when the consumer stops early.
 */
export async function* readPipe(fd: number, aheadBytes: number): AsyncGenerator<Uint8Array> {
  const queue: Uint8Array[] = []
  let [queuedBytes, isOver, isPaused] = [0, false, false]
  let failure: Error | null = null
  let wake = (): void => undefined
  let slab = Buffer.allocUnsafeSlow(SLAB_BYTES)
  // Reads into a slab of its own, since a stream would give chunks of 64 KiB at most.
  const onread = {
    buffer: () => {
      if (slab.length < READ_BYTES_MIN) slab = Buffer.allocUnsafeSlow(SLAB_BYTES)
      return slab
    },
    callback: (count: number) => {
      queue.push(slab.subarray(0, count))
      slab = slab.subarray(count)
      queuedBytes += count
      isPaused = queuedBytes >= aheadBytes
      wake()
      return !isPaused
    },
  }
  const socket = new Socket({ fd, readable: true, writable: false, onread })
  socket.once('error', (error) => {
    failure = error
  })
  socket.once('close', () => {
    isOver = true
    wake()
  })
  try {
    for (;;) {
      const piece = queue.shift()
      if (piece !== undefined) {
        queuedBytes -= piece.length
        if (isPaused && queuedBytes < aheadBytes / 2) {
          isPaused = false
          socket.resume()
        }
        yield piece
      } else if (isOver) {
        if (failure) throw failure as Error
        return
      } else {
        const { promise, resolve } = Promise.withResolvers<void>()
        wake = resolve
        await promise
      }
    }
  } finally {
    socket.destroy()
  }
}

const SLAB_BYTES = 1024 ** 2
const READ_BYTES_MIN = 128 * 1024
