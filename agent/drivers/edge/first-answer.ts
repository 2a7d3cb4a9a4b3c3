import type { Duplex } from 'node:stream'

/** Result for the first bytes of a server. They are the head of an HTTP/1 answer, or have a fault. */
export type FirstAnswer = 'http' | AnswerFault
/** `closed` means that the connection ended, or was reset, before the head was complete. */
export type AnswerFault = 'closed' | 'not_http' | 'http2' | 'large_head' | 'not_http2'

/** Judges the first bytes of a server, or returns null if it needs more. */
export function judgeAnswer(bytes: Buffer): FirstAnswer | null {
  const start = bytes.subarray(0, HTTP1.length)
  if (!start.equals(HTTP1.subarray(0, start.length))) return judgeOther(bytes)
  const end = bytes.indexOf('\r\n\r\n')
  if (end > HEAD_BYTES || (end < 0 && bytes.length > HEAD_BYTES)) return 'large_head'
  return end < 0 ? null : 'http'
}

/** As `judgeAnswer`, for a server that should speak HTTP/2. */
export function judgeHttp2Answer(bytes: Buffer): FirstAnswer | null {
  if (bytes[0] === 0 && bytes.length < FRAME_HEAD_BYTES) return null
  return bytes[0] === 0 && isHttp2(bytes) ? 'http' : 'not_http2'
}

function judgeOther(bytes: Buffer): FirstAnswer | null {
  // The length of a first frame is below 2^24, so its first byte is 0.
  if (bytes[0] !== 0) return 'not_http'
  if (bytes.length < FRAME_HEAD_BYTES) return null
  return isHttp2(bytes) ? 'http2' : 'not_http'
}

/** Returns true if bytes begin with a frame that may open a connection of an HTTP/2 server (RFC 9113, 3.4): SETTINGS, or GOAWAY. */
function isHttp2(bytes: Buffer): boolean {
  const [length, type, stream] = [bytes.readUIntBE(0, 3), bytes[3], bytes.readUInt32BE(5)]
  return stream === 0 && (type === SETTINGS ? length % 6 === 0 : type === GOAWAY && length >= 8)
}

/**
 * Tests whether a server speaks HTTP/2, by the preface of a client with prior knowledge (RFC 9113, 3.4), and closes the connection.
 * Resolves to false also if it does not answer in time.
 */
export function speaksHttp2(stream: Duplex, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    let received = Buffer.alloc(0)
    const end = (speaks: boolean): void => {
      clearTimeout(timer)
      stream.destroy()
      resolve(speaks)
    }
    const timer = setTimeout(() => end(false), timeoutMs)
    stream.on('error', () => end(false))
    stream.once('close', () => end(false))
    stream.on('data', (piece: Buffer) => {
      received = Buffer.concat([received, piece])
      if (received.length >= FRAME_HEAD_BYTES) end(isHttp2(received))
    })
    stream.write(PREFACE)
  })
}

/** Describes a fault for the client. */
export function answerFaultText(fault: AnswerFault, port: number): string {
  return `The server on port ${port} of this box ${FAULT_TEXTS[fault]}`
}

/** Maximum head of an answer that the edge accepts: 64 KiB, and the rest of its buffer. */
export const HEAD_BYTES = 90 * 1024
const FAULT_TEXTS: Record<AnswerFault, string> = {
  closed: 'closed or reset the connection before it answered.',
  not_http: 'answered with something that is not HTTP.',
  http2: 'speaks only HTTP/2 without TLS (h2c), as gRPC servers do. Set the protocol of the port to h2c.',
  not_http2: 'does not speak HTTP/2 without TLS (h2c), as the protocol of the port says. Set it to http.',
  large_head: 'answered with a head that is too large: the edge takes 64 KiB.',
}
const HTTP1 = Buffer.from('HTTP/1.')
const FRAME_HEAD_BYTES = 9
const [SETTINGS, GOAWAY] = [4, 7]
const PREFACE = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  Buffer.from([0, 0, 0, SETTINGS, 0, 0, 0, 0, 0]),
])
