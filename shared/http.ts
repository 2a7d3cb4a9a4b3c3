import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ServiceError } from './errors.ts'
import { newId } from './ids.ts'
import type { Logger } from './log.ts'
import { givenRequestId, type HttpHandler, type HttpRequest, type HttpResponse, problemResponse } from './messages.ts'

/** Limits for `http.createServer`; a client slower than these is cut off. */
export const SERVER_OPTIONS: ServerOptions = {
  /** Beyond the clients' own, so that a kept-alive connection is not closed under a request that is on its way. */
  keepAliveTimeout: 65_000,
  headersTimeout: 15_000,
  requestTimeout: 120_000,
  connectionsCheckingInterval: 5_000,
  maxHeaderSize: 32 * 1024,
  /** Left to the app, whose refusals have the one error shape. */
  requireHostHeader: false,
  noDelay: true,
}

export interface ServingOptions {
  handler: HttpHandler
  logger: Logger
  /** Milliseconds since the epoch. */
  now(): number
}

/** The traffic of one server, for a polite end. */
export interface Serving {
  /** Requests that are not answered yet. */
  inFlight(): number
  /** Takes no new connection and ends kept-alive ones; resolves once nothing is in flight or `signal` aborts. */
  drain(signal: AbortSignal): Promise<void>
}

/** Serves `handler` on a node:http or node:https server that the caller made with SERVER_OPTIONS and listens on. */
export function serve(server: Server, options: ServingOptions): Serving {
  const state = { inFlight: 0, isDraining: false, onIdle: () => {} }
  const context = { ...options, isDraining: () => state.isDraining }
  const listen = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    state.inFlight++
    busySockets.add(incoming.socket)
    outgoing.once('close', () => {
      busySockets.delete(incoming.socket)
      state.inFlight--
      if (state.inFlight === 0) state.onIdle()
    })
    void answer(incoming, outgoing, context)
  }
  server.on('request', listen)
  server.on('checkExpectation', listen)
  server.on('checkContinue', (incoming: IncomingMessage, outgoing: ServerResponse) => {
    awaitsContinue.add(incoming)
    listen(incoming, outgoing)
  })
  server.on('clientError', (error: Error, socket: Socket) => refuseUnparsed(error, socket, options))
  return { inFlight: () => state.inFlight, drain: (signal) => drain(server, state, signal) }
}

async function drain(
  server: Server,
  state: { inFlight: number; isDraining: boolean; onIdle: () => void },
  signal: AbortSignal,
): Promise<void> {
  state.isDraining = true
  server.close()
  server.closeIdleConnections()
  if (state.inFlight > 0 && !signal.aborted) {
    await new Promise<void>((resolve) => {
      state.onIdle = resolve
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
  }
  server.closeAllConnections()
}

async function answer(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  options: ServingOptions & { isDraining(): boolean },
): Promise<void> {
  outgoing.on('error', () => {})
  try {
    const request = toRequest(incoming, outgoing)
    let response: HttpResponse
    try {
      response = await options.handler(request)
    } catch (error) {
      const requestId = givenRequestId(request.headers) ?? newId('req', options.now())
      options.logger.error('A request failed outside the app', { request_id: requestId, error })
      response = problemResponse(error, requestId)
    }
    if (options.isDraining()) outgoing.shouldKeepAlive = false
    await sendResponse(outgoing, response)
  } catch (error) {
    options.logger.warn('An answer broke off', { error })
    outgoing.destroy()
  }
  discardRest(incoming)
}

/** The request of a node:http pair; its body stays unread until asked for. */
export function toRequest(incoming: IncomingMessage, outgoing: ServerResponse): HttpRequest {
  let controller: AbortController | undefined
  return {
    method: incoming.method ?? 'GET',
    target: originForm(incoming.url ?? '/'),
    headers: incoming.headers,
    clientAddress: incoming.socket.remoteAddress ?? '',
    get signal(): AbortSignal {
      controller ??= abortOnLeave(outgoing)
      return controller.signal
    },
    readBody: (maxBytes) => readBody(incoming, outgoing, maxBytes),
  }
}

function abortOnLeave(outgoing: ServerResponse): AbortController {
  const controller = new AbortController()
  const check = (): void => {
    if (!outgoing.writableFinished) controller.abort(new Error('the client left'))
  }
  if (outgoing.destroyed || outgoing.closed) check()
  else outgoing.once('close', check)
  return controller
}

/** An absolute-form target (RFC 9112 §3.2.2) names a path of ours as well; `*` and others match no route. */
function originForm(target: string): string {
  if (target.startsWith('/')) return target
  const path = /^https?:\/\/[^/?#]*(\/.*)?$/i.exec(target)
  return path ? (path[1] ?? '/') : `/${target}`
}

function readBody(incoming: IncomingMessage, outgoing: ServerResponse, maxBytes: number): Promise<Uint8Array> {
  const declared = incoming.headers['content-length']
  if (declared === undefined && incoming.headers['transfer-encoding'] === undefined) return Promise.resolve(EMPTY)
  if (Number(declared ?? 0) > maxBytes) return Promise.reject(bodyTooLarge(maxBytes))
  if (awaitsContinue.delete(incoming)) outgoing.writeContinue()
  return collect(incoming, maxBytes)
}

function collect(incoming: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const take = (chunk: Buffer): void => {
      size += chunk.length
      if (size > maxBytes) {
        chunks.length = 0
        incoming.off('data', take)
        incoming.resume()
        reject(bodyTooLarge(maxBytes))
      } else chunks.push(chunk)
    }
    const broken = (cause?: unknown): void =>
      reject(new ServiceError('invalid_request', 'The body broke off before its end.', { cause }))
    incoming.on('data', take)
    incoming.once('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)))
    incoming.once('error', broken)
    incoming.once('close', () => (incoming.complete ? undefined : broken()))
  })
}

/** Sends an answer and resolves when it is handed to the system; a stream is read only as fast as the client takes it. */
export async function sendResponse(outgoing: ServerResponse, response: HttpResponse): Promise<void> {
  if (outgoing.destroyed) {
    if (isStream(response.body)) await cancelStream(response.body)
    return
  }
  const { body } = response
  const headers = response.headers as Record<string, string | string[]>
  if (isStream(body)) {
    outgoing.writeHead(response.status, headers)
    await pipeline(Readable.from(body, { objectMode: false }), outgoing)
    return
  }
  const isBodiless = response.status === 204 || response.status === 304
  if (isBodiless || headers['content-length'] !== undefined) {
    outgoing.writeHead(response.status, headers)
  } else {
    const size = body === null ? 0 : typeof body === 'string' ? Buffer.byteLength(body) : body.length
    outgoing.writeHead(response.status, { ...headers, 'content-length': String(size) })
  }
  if (isBodiless || body === null) outgoing.end()
  else outgoing.end(body)
}

/** Whether a body comes in pieces. */
export function isStream(body: HttpResponse['body']): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body
}

async function cancelStream(body: AsyncIterable<Uint8Array>): Promise<void> {
  if (body instanceof Readable) body.destroy()
  else await body[Symbol.asyncIterator]().return?.()
}

/**
 * Lets a client that is still sending read its answer first: a socket closed with unread data resets the
 * connection, and the answer with it. What it sends goes nowhere, and not for long.
 */
function discardRest(incoming: IncomingMessage): void {
  if (incoming.complete || incoming.destroyed) return
  incoming.resume()
  const timer = setTimeout(() => incoming.socket.destroy(), DISCARD_MS)
  timer.unref()
  incoming.once('close', () => clearTimeout(timer))
}

/** What the parser refuses never reaches the app, but is answered in its shape. */
function refuseUnparsed(error: Error & { code?: string }, socket: Socket, options: ServingOptions): void {
  if (error.code === 'ECONNRESET' || !socket.writable || busySockets.has(socket)) {
    socket.destroy()
    return
  }
  const requestId = newId('req', options.now())
  const detail = UNPARSED_DETAILS[error.code ?? ''] ?? 'The request is not valid HTTP.'
  const refusal = problemResponse(new ServiceError('invalid_request', detail, { cause: error }), requestId)
  const body = typeof refusal.body === 'string' ? refusal.body : ''
  const head = Object.entries(refusal.headers).map(([name, value]) => `${name}: ${String(value)}\r\n`)
  socket.end(
    `HTTP/1.1 ${refusal.status} Bad Request\r\n${head.join('')}connection: close\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}

function bodyTooLarge(maxBytes: number): ServiceError {
  return new ServiceError('body_too_large', `The body may be at most ${maxBytes} bytes.`)
}

const awaitsContinue = new WeakSet<IncomingMessage>()
/** Sockets on which an answer is due or under way: nothing else may be written there. */
const busySockets = new WeakSet<Socket>()
const EMPTY = new Uint8Array(0)
const DISCARD_MS = 2_000
const UNPARSED_DETAILS: Record<string, string> = {
  HPE_HEADER_OVERFLOW: 'The request head is too large.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request took too long to arrive.',
}
