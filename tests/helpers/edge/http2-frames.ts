import type { TLSSocket } from 'node:tls'
import { openTls, type TlsPlace } from './tls-client.ts'

/** Name and value of a header, sent without checks or sorting. */
export type RawHeader = readonly [name: string, value: string]

/** The server's response on each stream. */
export interface Http2Answer {
  /** Status by stream. 0 means no status in a form that this client reads. */
  statuses: Map<number, number>
  /** Error codes of streams that the server reset. */
  resets: Map<number, number>
  /** Error code with which the server ended the connection, or null. */
  goAway: number | null
}

/** Frame types and flags (RFC 9113, 6). */
export const H2_FRAME = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goAway: 7, continuation: 9 } as const
export const [END_STREAM, END_HEADERS] = [1, 4] as const

/** Builds a frame. */
export function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** Encodes a header block as never-indexed literals (RFC 7541, 6.2.3). Accepts any bytes. */
export function headBlock(headers: readonly RawHeader[]): Buffer {
  return Buffer.concat(headers.flatMap(([name, value]) => [Buffer.from([0x10]), literal(name), literal(value)]))
}

/** Builds the frame of a request without a body. */
export function requestFrame(stream: number, headers: readonly RawHeader[]): Buffer {
  return frame(H2_FRAME.headers, END_STREAM | END_HEADERS, stream, headBlock(headers))
}

/** Sends frames over a new connection. Resolves once the server answers or resets `stream`, or ends the connection. */
export async function sendFrames(place: TlsPlace, frames: readonly Buffer[], stream = 1): Promise<Http2Answer> {
  const line = await openTls(place, 'edge', ['h2'])
  const answer: Http2Answer = { statuses: new Map(), resets: new Map(), goAway: null }
  const isOver = (): boolean => answer.statuses.has(stream) || answer.resets.has(stream) || answer.goAway !== null
  try {
    await new Promise<void>((resolve, reject) => {
      line.setTimeout(30_000, () => reject(new Error('the edge says nothing')))
      line.once('close', resolve)
      line.on('error', () => resolve())
      readFrames(line, answer, () => (isOver() ? resolve() : undefined))
      line.write(Buffer.concat([PREFACE, ...frames]))
    })
    return answer
  } finally {
    line.destroy()
  }
}

function readFrames(line: TLSSocket, answer: Http2Answer, onFrame: () => void): void {
  let received = Buffer.alloc(0)
  line.on('data', (piece: Buffer) => {
    received = Buffer.concat([received, piece])
    while (received.length >= 9 && received.length >= 9 + received.readUIntBE(0, 3)) {
      const [length, type, stream] = [received.readUIntBE(0, 3), received.readUInt8(3), received.readUInt32BE(5)]
      const payload = received.subarray(9, 9 + length)
      received = received.subarray(9 + length)
      if (type === H2_FRAME.headers) answer.statuses.set(stream, statusOf(payload))
      if (type === H2_FRAME.reset) answer.resets.set(stream, payload.readUInt32BE(0))
      if (type === H2_FRAME.goAway) answer.goAway = payload.readUInt32BE(4)
      onFrame()
    }
  })
}

/** Reads a status as HAProxy sends it, from the static table or as a literal without Huffman coding. */
function statusOf(block: Buffer): number {
  const known = KNOWN_STATUSES.get(block[0] ?? 0)
  return known ?? Number(/\d{3}/.exec(block.subarray(0, 8).toString('latin1'))?.[0] ?? 0)
}

function literal(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1')
  return Buffer.concat([lengthOf(bytes.length), bytes])
}

function lengthOf(length: number): Buffer {
  if (length < 127) return Buffer.from([length])
  const bytes = [127]
  let rest = length - 127
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128)
  return Buffer.from([...bytes, rest])
}

/** Starts a client's connection (RFC 9113, 3.4). */
export const PREFACE = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(H2_FRAME.settings, 0, 0)])
const KNOWN_STATUSES = new Map([200, 204, 206, 304, 400, 404, 500].map((status, index) => [0x88 + index, status]))
