import { constants, performServerHandshake } from 'node:http2'
import type { Socket } from 'node:net'

/** An answer to one request. */
export interface WholeAnswer {
  status: number
  headers: Record<string, string | string[]>
  body: string
}

/**
 * Answers the requests of an HTTP/2 connection whose first bytes have been read, and ends it. Destroys it if the client does not end it
 * within 2 s.
 */
export function endWithHttp2(
  socket: Socket,
  received: Buffer,
  answerTo: (request: { method: string; accept: string | undefined }) => Promise<WholeAnswer>,
): void {
  socket.unshift(received)
  const session = performServerHandshake(socket)
  const timer = setTimeout(() => socket.destroy(), LEAVE_MS)
  timer.unref()
  socket.once('close', () => clearTimeout(timer))
  session.on('error', () => socket.destroy())
  session.on('stream', (stream, headers) => {
    stream.on('error', () => undefined)
    const { ':method': method = 'GET', accept } = headers
    answerTo({ method, accept })
      .then(({ status, headers: answered, body }) => {
        const length = { 'content-length': Buffer.byteLength(body) }
        stream.respond({ ...answered, ...length, [constants.HTTP2_HEADER_STATUS]: status })
        stream.end(body)
        session.close()
      })
      .catch(() => socket.destroy())
  })
}

const LEAVE_MS = 2_000
