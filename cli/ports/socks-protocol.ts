/** Answers of a SOCKS5 server to a request (RFC 1928, section 6). */
export const SOCKS_REPLY = {
  succeeded: 0,
  failed: 1,
  notAllowed: 2,
  hostUnreachable: 4,
  connectionRefused: 5,
  commandNotSupported: 7,
  addressTypeNotSupported: 8,
} as const

export type SocksReply = (typeof SOCKS_REPLY)[keyof typeof SOCKS_REPLY]

/** Bytes that are not SOCKS5, or an unsupported request. `reply` is the answer to send before closing, or null for none. */
export class SocksError extends Error {
  override readonly name = 'SocksError'
  readonly reply: SocksReply | null

  constructor(message: string, reply: SocksReply | null) {
    super(message)
    this.reply = reply
  }
}

/** The destination that a client requests. */
export interface SocksTarget {
  /** A name, as the client sent it. */
  host: string
  port: number
}

/** A message, and its length in bytes. */
export interface ParsedSocks<T> {
  message: T
  length: number
}

/**
 * Parses the first message of a client, which lists its authentication methods. Returns null while bytes are missing. A pure function.
 * @throws SocksError for another version, or no methods
 */
export function parseGreeting(bytes: Uint8Array): ParsedSocks<readonly number[]> | null {
  checkVersion(bytes)
  const [, count] = bytes
  if (count === undefined) return null
  if (count === 0) throw new SocksError('The client offers no authentication method.', null)
  const length = 2 + count
  return bytes.length < length ? null : { message: [...bytes.subarray(2, length)], length }
}

/**
 * Parses a request. Returns null while bytes are missing, and reports a fault as soon as it sees one. A pure function.
 * @throws SocksError for anything but CONNECT to a name and a port
 */
export function parseRequest(bytes: Uint8Array): ParsedSocks<SocksTarget> | null {
  checkVersion(bytes)
  const [, command, reserved, kind, nameLength] = bytes
  if (command === undefined || reserved === undefined || kind === undefined) return null
  if (reserved !== 0) throw new SocksError('The reserved byte is not 0.', SOCKS_REPLY.failed)
  if (command !== CONNECT) throw new SocksError('The proxy supports only CONNECT.', SOCKS_REPLY.commandNotSupported)
  if (kind !== DOMAIN_NAME)
    throw new SocksError(
      'The request has an IP address instead of a name. Let the proxy resolve names (socks5h, --socks5-hostname).',
      kind === IPV4 || kind === IPV6 ? SOCKS_REPLY.notAllowed : SOCKS_REPLY.addressTypeNotSupported,
    )
  if (nameLength === undefined) return null
  if (nameLength === 0) throw new SocksError('The host name is empty.', SOCKS_REPLY.failed)
  const length = 5 + nameLength + 2
  if (bytes.length < length) return null
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const port = view.getUint16(length - 2)
  const host = Buffer.from(bytes.subarray(5, length - 2)).toString('latin1')
  if (!/^[A-Za-z0-9._-]+$/.test(host)) throw new SocksError('The request has no valid host name.', SOCKS_REPLY.failed)
  if (port === 0) throw new SocksError('Port 0 is not valid.', SOCKS_REPLY.failed)
  return { message: { host, port }, length }
}

/** Formats the answer to a greeting. Null means that the server accepts none of its methods. */
export function formatMethod(method: typeof NO_AUTHENTICATION | null): Uint8Array {
  return Uint8Array.of(VERSION, method ?? 0xff)
}

/** Formats the answer to a request, without the address that the connection came from. */
export function formatReply(reply: SocksReply): Uint8Array {
  return Uint8Array.of(VERSION, reply, 0, IPV4, 0, 0, 0, 0, 0, 0)
}

function checkVersion([version]: Uint8Array): void {
  if (version !== undefined && version !== VERSION) throw new SocksError('The client does not speak SOCKS5.', null)
}

/** The authentication method without credentials. */
export const NO_AUTHENTICATION = 0
const VERSION = 5
const CONNECT = 1
const IPV4 = 1
const DOMAIN_NAME = 3
const IPV6 = 4
