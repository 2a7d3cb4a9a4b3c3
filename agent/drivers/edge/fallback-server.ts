import { createServer, connect as openConnection, type Server, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { ServiceError } from '../../../shared/errors.ts'
import { endWithResponse } from '../../../shared/http/raw-response.ts'
import type { Logger } from '../../../shared/log.ts'
import type { EdgeGate, EdgeReach } from '../../ports/edge/edge.ts'
import { type Exchange, exchangeBytes } from './fallback-exchange.ts'
import { type AnswerFault, answerFaultText, speaksHttp2 } from './first-answer.ts'
import { endWithHttp2, type WholeAnswer } from './http2-answer.ts'
import { EDGE_REFUSAL_HEADER } from './names.ts'
import { type ProxyTarget, parseProxyHeader } from './proxy-header.ts'
import { readRequestStart } from './request-start.ts'

export interface FallbackServerDeps {
  gate: Pick<EdgeGate, 'reach' | 'refuse'>
  /** Value of `EDGE_REFUSAL_HEADER`. */
  refusalMark: string
  logger: Logger
}

/**
 * Answers requests that a box did not answer to the edge. Forwards them to a server on the box's loopback, or explains why it cannot. The
 * edge opens a connection for each request. It begins with a PROXY header that has the address and port that the edge tried.
 *
 * A server that listens at the box's own address may have received the request before, if its method is safe. The edge hands over other
 * methods only if it could not connect. So this tries that address first for each request, and forwards the answer if it is good by now.
 */
export class FallbackServer {
  readonly #deps: FallbackServerDeps
  readonly #sockets = new Map<Socket, Exchange | null>()
  readonly server: Server

  constructor(deps: FallbackServerDeps) {
    this.#deps = deps
    this.server = createServer({ allowHalfOpen: true }, (socket) => this.#serve(socket))
  }

  /** Ends the requests to `<address>:<port>`. Ends long-lived ones, WebSockets and event streams, only with `lasting`. */
  cut(target: string, { lasting }: { lasting: boolean }): void {
    for (const [socket, exchange] of this.#sockets) {
      if (exchange === null || `${exchange.target.address}:${exchange.target.port}` !== target) continue
      if (lasting || !exchange.start.isLasting) socket.destroy()
    }
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()))
    for (const socket of this.#sockets.keys()) socket.destroy()
    await closed
  }

  #serve(socket: Socket): void {
    this.#sockets.set(socket, null)
    socket.once('close', () => this.#sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    socket.setTimeout(REQUEST_MS, () => socket.destroy())
    let bytes = Buffer.alloc(0)
    const read = (piece: Buffer): void => {
      bytes = Buffer.concat([bytes, piece])
      const exchange = this.#begin(socket, bytes)
      if (exchange === null) return
      socket.off('data', read)
      socket.pause()
      socket.setTimeout(0)
      this.#sockets.set(socket, exchange)
      void this.#answer(exchange)
    }
    socket.on('data', read)
  }

  /** Returns null if the head of the request is not complete. Also returns null, and destroys the socket, if there is no valid head. */
  #begin(socket: Socket, bytes: Buffer): Exchange | null {
    try {
      const header = parseProxyHeader(bytes)
      const sent = header === null ? null : bytes.subarray(header.sizeBytes)
      const start = sent === null ? null : readRequestStart(sent)
      return header === null || sent === null || start === null ? null : { socket, target: header.target, sent, start }
    } catch (error) {
      this.#deps.logger.error('the edge sent an unreadable request', { error })
      socket.destroy()
      return null
    }
  }

  async #answer(exchange: Exchange): Promise<void> {
    const { socket, target, start } = exchange
    const { gate, logger, refusalMark } = this.#deps
    let reach: EdgeReach | null = null
    try {
      reach = await gate.reach(target)
      await deliver(exchange, reach)
    } catch (error) {
      if (!(error instanceof ServiceError)) logger.error('failed to answer a request for a box', { error })
      const known = error instanceof ServiceError ? error : noAnswer(target)
      const refuse = async (request: Parameters<EdgeGate['refuse']>[1]): Promise<WholeAnswer> => {
        const { status, headers, body } = await gate.refuse(known, request)
        // The edge counts it, and removes the header.
        return { status, headers: { ...mutable(headers), [EDGE_REFUSAL_HEADER]: refusalMark }, body }
      }
      if (socket.destroyed) return
      if (start.isHttp2) endWithHttp2(socket, exchange.sent, refuse)
      else endWithResponse(socket, await refuse(start))
    } finally {
      reach?.release()
    }
  }
}

/** Resolves once the request has ended. @throws ServiceError with the reason why there is no answer to forward */
async function deliver(exchange: Exchange, reach: EdgeReach): Promise<void> {
  const { target, start, socket } = exchange
  const direct = await connectTo(target)
  const again = async (): Promise<Duplex | null> =>
    direct !== null ? connectTo(target) : reach.connect().then(({ stream }) => stream)
  const stream = direct ?? (await atLoopback(reach, target))
  if (socket.destroyed) return void stream.destroy()
  const fault = await exchangeBytes(exchange, stream, reach.owner)
  if (fault === null || socket.destroyed) return
  throw faultOf(fault === 'closed' && !start.isHttp2 && (await isHttp2Server(again)) ? 'http2' : fault, target)
}

async function isHttp2Server(connect: () => Promise<Duplex | null>): Promise<boolean> {
  const stream = await connect().catch(() => null)
  return stream !== null && speaksHttp2(stream, HTTP2_MS)
}

async function atLoopback(reach: EdgeReach, target: ProxyTarget): Promise<Duplex> {
  try {
    return (await reach.connect()).stream
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'port_not_listening') throw error
    throw new ServiceError('port_unreachable', `Nothing answers on port ${target.port} of this box.`)
  }
}

/**
 * Connects to a box's own address as the edge does, or returns null if the box refuses.
 * @throws ServiceError if there is no answer, or another fault, in which the edge may have connected
 */
function connectTo({ address, port }: ProxyTarget): Promise<Socket | null> {
  return new Promise((resolve, reject) => {
    const socket = openConnection({ host: address, port, noDelay: true, allowHalfOpen: true })
    const fail = (): void => {
      socket.destroy()
      reject(new ServiceError('port_unreachable', `Port ${port} of this box takes no connections.`))
    }
    const timer = setTimeout(fail, CONNECT_MS)
    socket.once('connect', () => {
      clearTimeout(timer)
      socket.removeAllListeners('error')
      socket.on('error', () => undefined)
      resolve(socket)
    })
    socket.once('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer)
      if (error.code === 'ECONNREFUSED') resolve(null)
      else fail()
    })
  })
}

function faultOf(fault: AnswerFault, { port }: ProxyTarget): ServiceError {
  return new ServiceError('port_unreachable', answerFaultText(fault, port))
}

function noAnswer({ port }: ProxyTarget): ServiceError {
  const detail = `The server on port ${port} of this box closed the connection before it answered, or its answer is not HTTP/1.1.`
  return new ServiceError('port_unreachable', `${detail} A GET shows which.`)
}

function mutable(headers: Readonly<Record<string, string | readonly string[]>>): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, typeof value === 'string' ? value : [...value]]),
  )
}

/** The edge sends a request at once. */
const REQUEST_MS = 10_000
/** Same as the edge's own. */
const CONNECT_MS = 3_000
const HTTP2_MS = 1_000
