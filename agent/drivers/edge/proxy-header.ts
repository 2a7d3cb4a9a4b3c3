/** The destination in a header of the PROXY protocol. */
export interface ProxyTarget {
  address: string
  port: number
}

/**
 * Parses a header of the PROXY protocol, version 2, which only HAProxy sends. Returns null if it needs more bytes.
 * @throws Error for anything else, and for a header without addresses of TCP
 */
export function parseProxyHeader(bytes: Buffer): { target: ProxyTarget; sizeBytes: number } | null {
  const known = bytes.subarray(0, SIGNATURE.length)
  if (!known.equals(SIGNATURE.subarray(0, known.length))) throw new Error('no header of the PROXY protocol')
  if (bytes.length < FIXED_BYTES) return null
  const sizeBytes = FIXED_BYTES + bytes.readUInt16BE(14)
  if (sizeBytes > MOST_BYTES) throw new Error('too long a header of the PROXY protocol')
  if (bytes.length < sizeBytes) return null
  const [command, family, rest] = [bytes[12], bytes[13], bytes.subarray(FIXED_BYTES, sizeBytes)]
  if (command !== PROXIED) throw new Error('a header of the PROXY protocol without addresses')
  if (family === TCP4 && rest.length >= 12)
    return { target: { address: [...rest.subarray(4, 8)].join('.'), port: rest.readUInt16BE(10) }, sizeBytes }
  // If the client uses IPv6, both addresses are IPv6. The box then has a mapped one (RFC 4291, 2.5.5.2).
  if (family === TCP6 && rest.length >= 36 && rest.subarray(16, 28).equals(MAPPED))
    return { target: { address: [...rest.subarray(28, 32)].join('.'), port: rest.readUInt16BE(34) }, sizeBytes }
  throw new Error('a header of the PROXY protocol for no box')
}

const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')
const FIXED_BYTES = 16
/** Far longer than two addresses. */
const MOST_BYTES = 512
/** Version 2, and the command PROXY. */
const PROXIED = 0x21
const [TCP4, TCP6] = [0x11, 0x21]
const MAPPED = Buffer.from('00000000000000000000ffff', 'hex')
