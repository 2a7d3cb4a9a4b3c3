import { ConnectionError } from './api-error.ts'
import type { Doors } from './doors.ts'
import type { MessageSocket } from './message-socket.ts'

/** A TCP connection to a port of a box. `readable` and `writable` end independently. */
export interface PortStream {
  /** Ends when the program ends its direction. Errors with a ConnectionError if the connection breaks. */
  readable: ReadableStream<Uint8Array>
  /** Closing it ends the direction to the program and leaves the other open. Aborting it closes the connection. */
  writable: WritableStream<Uint8Array>
  /** Closes the connection. The service still delivers the bytes that were sent. */
  close(): void
}

/** Connects to a TCP port of a box (docs/ports.md). @throws ApiError if nothing listens there, ConnectionError */
export async function openPort(
  doors: Doors,
  box: { project: string; name: string },
  { port, signal }: { port: number; signal?: AbortSignal | undefined },
): Promise<PortStream> {
  const socket = await doors.openSocket('openPort', { ...box, port, query: {}, signal }, PORT_PROTOCOL)
  let open = 2
  // After both directions have ended, no reader is left and the signal has nothing to end.
  const endOne = (): void => {
    if (--open === 0) socket.close()
  }
  return {
    readable: readableOf(socket, endOne),
    writable: new WritableStream<Uint8Array>({
      write: async (bytes) => {
        for (let at = 0; at < bytes.length; at += MESSAGE_BYTES)
          await socket.send(bytes.subarray(at, at + MESSAGE_BYTES))
      },
      close: async () => {
        await socket.send(END)
        endOne()
      },
      abort: () => socket.close(),
    }),
    close: () => socket.close(),
  }
}

function readableOf(socket: MessageSocket, onEnd: () => void): ReadableStream<Uint8Array> {
  let hasEnded = false
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const message = await socket.receive()
      if (message instanceof Uint8Array) return controller.enqueue(message)
      hasEnded ||= message === END
      const closed = socket.closed()
      if (hasEnded || closed?.code === NORMAL) {
        onEnd()
        return controller.close()
      }
      controller.error(new ConnectionError(closed?.reason || 'The connection was lost.'))
    },
    cancel: () => socket.close(),
  })
}

const PORT_PROTOCOL = 'v1.port.boxyard'
/** Text of a message that ends its sender's direction. */
const END = 'end'
const NORMAL = 1000
/** Maximum bytes of a message that the service accepts. */
const MESSAGE_BYTES = 64 * 1024
