import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { HttpResponse } from './messages.ts'
import { NOSNIFF } from './nosniff.ts'

/**
 * Answers on a socket that no HTTP server handles, and closes it. The body of `response` must be whole. Destroys the socket if the client
 * does not close it within 2 s.
 */
export function endWithResponse(socket: Duplex, response: HttpResponse): void {
  const { body } = response
  const bytes = typeof body === 'string' || body instanceof Uint8Array ? Buffer.from(body as string) : Buffer.alloc(0)
  const headers = { ...response.headers, connection: 'close', 'content-length': String(bytes.length) }
  // Discards further input. Unread, it would reset the connection, and lose the answer.
  socket.resume()
  socket.end(Buffer.concat([Buffer.from(headOf(response.status, headers), 'latin1'), bytes]))
  const timer = setTimeout(() => socket.destroy(), LEAVE_MS)
  timer.unref()
  socket.once('close', () => clearTimeout(timer))
}

/** Encodes the head of an answer, including its empty line. Adds the header that every answer has. */
export function headOf(status: number, headers: HttpResponse['headers']): string {
  const lines = Object.entries({ ...NOSNIFF, ...headers }).flatMap(([name, value]) =>
    (typeof value === 'string' ? [value] : value).map((one) => `${name}: ${one}\r\n`),
  )
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n`
}

const LEAVE_MS = 2_000
