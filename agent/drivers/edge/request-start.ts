/** Properties of a request that determine the edge's answer. */
export interface RequestStart {
  method: string
  accept: string | undefined
  /** A WebSocket, or an event stream, as in the configuration of HAProxy. */
  isLasting: boolean
  /** True for an HTTP/2 connection, whose bytes reveal nothing more. */
  isHttp2: boolean
}

/**
 * Reads the head of a request that HAProxy has written, or returns null if it is not complete.
 * @throws Error for one that it would not have written
 */
export function readRequestStart(bytes: Buffer): RequestStart | null {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0 && bytes.length > MOST_BYTES) throw new Error('a head that is too long')
  if (end < 0) return null
  const [line = '', ...fields] = bytes.toString('latin1', 0, end).split('\r\n')
  const headers = new Map(fields.map((field) => [field.slice(0, field.indexOf(':')).toLowerCase(), valueOf(field)]))
  const method = line.slice(0, line.indexOf(' '))
  const accept = headers.get('accept')
  const isLasting = headers.has('upgrade') || /text\/event-stream/i.test(accept ?? '')
  return { method, accept, isLasting, isHttp2: line === PREFACE }
}

function valueOf(field: string): string {
  return field.slice(field.indexOf(':') + 1).trim()
}

const PREFACE = 'PRI * HTTP/2.0'
/** More than a buffer of the edge holds. */
const MOST_BYTES = 128 * 1024
