import type { Socket } from 'node:net'
import { ApiError } from '../../sdk/typescript/src/api-error.ts'
import type { PortStream } from '../../sdk/typescript/src/port-stream.ts'
import type { OpenedBox } from '../context/box-host.ts'
import { UsageError } from '../output/failures.ts'
import { isLeaving, joinPort } from './forwarding.ts'
import {
  formatMethod,
  formatReply,
  NO_AUTHENTICATION,
  type ParsedSocks,
  parseGreeting,
  parseRequest,
  SOCKS_REPLY,
  SocksError,
  type SocksReply,
  type SocksTarget,
} from './socks-protocol.ts'

/** Serves one SOCKS5 client without authentication. Connects it to the port of the box that it names, and forwards bytes to the end. */
export async function serveSocks(
  socket: Socket,
  openBox: (host: string) => OpenedBox,
  tellError: (what: string, error: unknown) => void,
): Promise<void> {
  let target: SocksTarget | null = null
  let hasReplied = false
  // Idle clients hold no socket for long.
  socket.setTimeout(HANDSHAKE_MS, () => socket.destroy())
  try {
    const methods = await read(socket, parseGreeting)
    const isTaken = methods.includes(NO_AUTHENTICATION)
    socket.write(formatMethod(isTaken ? NO_AUTHENTICATION : null))
    if (!isTaken) throw new SocksError('The client requires authentication, which this proxy does not have.', null)
    target = await read(socket, parseRequest)
    socket.setTimeout(0)
    const port = await connect(openBox, target)
    hasReplied = true
    socket.write(formatReply(SOCKS_REPLY.succeeded))
    await joinPort(socket, port)
  } catch (error) {
    const hasLeft = socket.destroyed || isLeaving(error)
    if (!hasLeft) tellError(target === null ? 'proxy' : `${target.host}:${target.port}`, error)
    const reply = hasReplied ? null : replyOf(error)
    if (reply === null) socket.resetAndDestroy()
    else socket.end(formatReply(reply), () => socket.destroy())
  }
}

/** Reads one message, and leaves the bytes after it for the next reader. */
async function read<T>(socket: Socket, parse: (bytes: Uint8Array) => ParsedSocks<T> | null): Promise<T> {
  let bytes: Buffer = Buffer.alloc(0)
  for (;;) {
    const piece = socket.read() as Buffer | null
    if (piece === null) {
      if (socket.readableEnded || socket.destroyed)
        throw new SocksError('The client disconnected before it sent a request.', null)
      await untilMore(socket)
      continue
    }
    bytes = Buffer.concat([bytes, piece])
    const found = parse(bytes)
    if (found !== null) {
      if (found.length < bytes.length) socket.unshift(bytes.subarray(found.length))
      return found.message
    }
  }
}

function untilMore(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      for (const event of MORE) socket.off(event, go)
      resolve()
    }
    for (const event of MORE) socket.on(event, go)
  })
}

async function connect(openBox: (host: string) => OpenedBox, { host, port }: SocksTarget): Promise<PortStream> {
  try {
    return await openBox(host).box.connect(port)
  } catch (error) {
    if (error instanceof UsageError) throw new SocksError(error.message, SOCKS_REPLY.notAllowed)
    throw error
  }
}

function replyOf(error: unknown): SocksReply | null {
  if (error instanceof SocksError) return error.reply
  if (!(error instanceof ApiError)) return SOCKS_REPLY.failed
  if (error.code === 'port_not_listening') return SOCKS_REPLY.connectionRefused
  if (error.status === 401 || error.status === 403) return SOCKS_REPLY.notAllowed
  return error.code === 'box_not_found' || error.code === 'box_not_running'
    ? SOCKS_REPLY.hostUnreachable
    : SOCKS_REPLY.failed
}

/** Events that may change what a read returns. */
const MORE = ['readable', 'end', 'close'] as const
const HANDSHAKE_MS = 10_000
