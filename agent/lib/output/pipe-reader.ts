import { Socket } from 'node:net'

/**
 * What is written to the pipe that `fd` reads, which is closed at the end, in pieces of up to 1 MiB; read ahead of whoever takes
 * them by up to `aheadBytes` and a piece. To leave it before its end closes the pipe.
 */
export async function* readPipe(fd: number, aheadBytes: number): AsyncGenerator<Uint8Array> {
  const waiting: Uint8Array[] = []
  let [waitingBytes, isOver, isPaused] = [0, false, false]
  let failure: Error | null = null
  let wake = (): void => undefined
  let slab = Buffer.allocUnsafeSlow(SLAB_BYTES)
  // Straight into memory of ours: as a stream it would come in pieces of 64 KiB at most.
  const onread = {
    buffer: () => {
      if (slab.length < READ_BYTES_MIN) slab = Buffer.allocUnsafeSlow(SLAB_BYTES)
      return slab
    },
    callback: (count: number) => {
      waiting.push(slab.subarray(0, count))
      slab = slab.subarray(count)
      waitingBytes += count
      isPaused = waitingBytes >= aheadBytes
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
      const piece = waiting.shift()
      if (piece !== undefined) {
        waitingBytes -= piece.length
        if (isPaused && waitingBytes < aheadBytes / 2) {
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
