import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ServiceError } from '../errors.ts'
import { newId } from '../ids.ts'
import type { Logger } from '../log.ts'
import { cancelStream, isStream } from './body-stream.ts'
import { hasDueAnswers, noteDueAnswer } from './due-answers.ts'
import { asksForWebSocket } from './handshake.ts'
import { givenRequestId, type HttpHandler, type HttpRequest, type HttpResponse, problemResponse } from './messages.ts'
import { notePassing } from './passing-bytes.ts'
import { endWithResponse, headOf } from './raw-response.ts'
import { BODY_PATIENCE, type BodyPatience, requestBody, restOfBody } from './request-body.ts'
import { sendPieces } from './send-pieces.ts'

/** Limits for `http.createServer`; a client slower than these is cut off. */
export const SERVER_OPTIONS: ServerOptions = {
  /** Beyond the clients' own, so that a kept-alive connection is not closed under a request that is on its way. */
  keepAliveTimeout: 65_000,
  headersTimeout: 15_000,
  /** Left to `readBody` and `openBody`: one that brings a large body may take as long as it brings anything. */
  requestTimeout: 0,
  connectionsCheckingInterval: 5_000,
  maxHeaderSize: 32 * 1024,
  /** Left to the app, whose refusals have the one error shape. */
  requireHostHeader: false,
  noDelay: true,
  /** Of an answer, so that its next piece is ready when the system takes it. */
  highWaterMark: 512 * 1024,
  /**
   * An upgrade to anything else, such as HTTP/2, is not taken: the request is answered as it is. Nor is one that did not wait
   * for the answers before it, among whose bytes the 101 would be written.
   */
  shouldUpgradeCallback: (incoming) => asksForWebSocket(incoming) && !hasDueAnswers(incoming.socket),
}

export interface ServingOptions {
  handler: HttpHandler
  logger: Logger
  /** Milliseconds since the epoch. */
  now(): number
  /** BODY_PATIENCE if left out. */
  patience?: BodyPatience
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
  const context = { patience: BODY_PATIENCE, ...options, isDraining: () => state.isDraining }
  const listen = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    state.inFlight++
    noteDueAnswer(incoming, outgoing)
    outgoing.once('close', () => {
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
  server.on('connect', (incoming: IncomingMessage) => refuseConnect(incoming.socket, options))
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
  options: ServingOptions & { patience: BodyPatience; isDraining(): boolean },
): Promise<void> {
  outgoing.on('error', () => {})
  const rest = restOfBody(incoming, options.patience)
  try {
    const request = toRequest(incoming, outgoing, options.patience)
    let response: HttpResponse
    try {
      response = await options.handler(request)
    } catch (error) {
      const requestId = givenRequestId(request.headers) ?? newId('req', options.now())
      options.logger.error('A request failed outside the app', { request_id: requestId, error })
      response = problemResponse(error, requestId)
    }
    if (options.isDraining()) outgoing.shouldKeepAlive = false
    rest.lingerOnClose()
    await sendResponse(outgoing, response)
  } catch (error) {
    options.logger.warn('An answer broke off', { error })
    outgoing.destroy()
  }
  rest.discard()
}

/** The request of a node:http pair; its body stays unread until asked for. */
function toRequest(incoming: IncomingMessage, outgoing: ServerResponse, patience: BodyPatience): HttpRequest {
  let controller: AbortController | undefined
  const askForIt = (): void => {
    if (awaitsContinue.delete(incoming)) outgoing.writeContinue()
  }
  const body = requestBody(incoming, { patience, askForIt })
  return {
    ...requestHead(incoming),
    get signal(): AbortSignal {
      controller ??= abortOnLeave(outgoing)
      return controller.signal
    },
    readBody: body.read,
    openBody: body.open,
  }
}

/** What the head of a request says. */
export function requestHead(
  incoming: IncomingMessage,
): Pick<HttpRequest, 'method' | 'target' | 'headers' | 'clientAddress'> {
  return {
    method: incoming.method ?? 'GET',
    target: originForm(incoming.url ?? '/'),
    headers: incoming.headers,
    clientAddress: incoming.socket.remoteAddress ?? '',
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

/**
 * Sends an answer and resolves when it is handed to the system; a stream is read only as fast as the client takes it, and
 * closed unread where no body goes out: after HEAD, with 204 and 304, to a client that has left.
 */
async function sendResponse(outgoing: ServerResponse, response: HttpResponse): Promise<void> {
  const { body, status } = response
  const headers = response.headers as Record<string, string | string[]>
  const isBodiless = status === 204 || status === 304
  if (isStream(body)) {
    if (outgoing.destroyed || isBodiless || outgoing.req.method === 'HEAD') {
      await cancelStream(body)
      if (!outgoing.destroyed) outgoing.writeHead(status, headers).end()
      return
    }
    outgoing.writeHead(status, headers)
    if (!(body instanceof Readable)) return sendPieces(outgoing, body)
    const sent = pipeline(body, outgoing)
    body.on('data', (piece: Uint8Array) => notePassing(piece.length))
    await sent
    return
  }
  if (outgoing.destroyed) return
  if (isBodiless || headers['content-length'] !== undefined) {
    outgoing.writeHead(status, headers)
  } else {
    const size = body === null ? 0 : typeof body === 'string' ? Buffer.byteLength(body) : body.length
    outgoing.writeHead(status, { ...headers, 'content-length': String(size) })
  }
  if (isBodiless || body === null) outgoing.end()
  else outgoing.end(body)
}

/** What the parser refuses never reaches the app, but is answered in its shape. */
function refuseUnparsed(error: Error & { code?: string }, socket: Socket, options: ServingOptions): void {
  if (error.code === 'ECONNRESET' || !socket.writable || hasDueAnswers(socket)) {
    socket.destroy()
    return
  }
  const requestId = newId('req', options.now())
  const detail = UNPARSED_DETAILS[error.code ?? ''] ?? 'The request is not valid HTTP.'
  const refusal = problemResponse(new ServiceError('invalid_request', detail, { cause: error }), requestId)
  const body = typeof refusal.body === 'string' ? refusal.body : ''
  const framing = { connection: 'close', 'content-length': String(Buffer.byteLength(body)) }
  socket.end(headOf(refusal.status, { ...refusal.headers, ...framing }) + body)
}

/** CONNECT never reaches the app either: node:http gives up its socket, listeners and all. */
function refuseConnect(socket: Socket, options: ServingOptions): void {
  socket.on('error', () => {})
  if (hasDueAnswers(socket)) {
    socket.destroy()
    return
  }
  const refusal = new ServiceError('invalid_request', 'CONNECT is not taken: this is no proxy.')
  endWithResponse(socket, problemResponse(refusal, newId('req', options.now())))
}

const awaitsContinue = new WeakSet<IncomingMessage>()
const UNPARSED_DETAILS: Record<string, string> = {
  HPE_HEADER_OVERFLOW: 'The request head is too large.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request took too long to arrive.',
}
