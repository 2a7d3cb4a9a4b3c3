import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http'
import { Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { ServiceError } from '../errors.ts'
import { createFairShares, type FairShares } from '../fair-shares.ts'
import { newId } from '../ids.ts'
import type { Logger } from '../log.ts'
import { createLineBudget, type LineBudget, logBounded } from '../log-budget.ts'
import { cancelStream, isStream } from './body-stream.ts'
import { HTTP_BOUNDS } from './bounds.ts'
import { hasDueAnswers, noteDueAnswer } from './due-answers.ts'
import { asksForWebSocket } from './handshake.ts'
import { givenRequestId, type HttpHandler, type HttpRequest, type HttpResponse, problemResponse } from './messages.ts'
import { NOSNIFF } from './nosniff.ts'
import { endWithResponse, headOf } from './raw-response.ts'
import { BODY_TIMEOUTS, type BodyTimeouts, requestBody, restOfBody } from './request-body.ts'
import { sendPieces, sendStream } from './send-pieces.ts'
import { createSourceAddresses, type SourceAddresses } from './source-address.ts'
import { sourceKey } from './source-key.ts'

/** Limits for `http.createServer`. The server cuts off a slower client. */
export const SERVER_OPTIONS: ServerOptions = {
  /** Above the clients' own time-outs, so that a kept-alive connection is not closed under a request on its way. */
  keepAliveTimeout: 65_000,
  headersTimeout: 15_000,
  /** Off, because `readBody` and `openBody` have their own limits. A large body may take long while it makes progress. */
  requestTimeout: 0,
  connectionsCheckingInterval: 5_000,
  maxHeaderSize: 32 * 1024,
  /** Off, because the app refuses such requests with a problem. */
  requireHostHeader: false,
  noDelay: true,
  /** For answers, so that the next piece is ready when the kernel accepts it. `serve` bounds the input. */
  highWaterMark: 512 * 1024,
  /**
   * Ignores an upgrade to anything but a WebSocket, such as HTTP/2, and answers it as a plain request. Also ignores one sent before earlier
   * answers were complete, because the 101 would be written into their bytes.
   */
  shouldUpgradeCallback: (incoming) => asksForWebSocket(incoming) && !hasDueAnswers(incoming.socket),
}

/** Options of a server without WebSockets. It answers an upgrade as a plain request, because no other handler would. */
export const PLAIN_SERVER_OPTIONS: ServerOptions = { ...SERVER_OPTIONS, shouldUpgradeCallback: () => false }

export interface ServingOptions {
  handler: HttpHandler
  logger: Logger
  /** Milliseconds since the epoch. */
  now(): number
  /** Default: BODY_TIMEOUTS. */
  timeouts?: BodyTimeouts
  /** Default: no proxy is trusted. */
  sources?: SourceAddresses
  /** Bytes of answers in memory that clients do not read. Default: the value in HTTP_BOUNDS. */
  unreadBytes?: number
}

/** The requests of one server, for a graceful shutdown. */
export interface Serving {
  /** Requests not answered yet. */
  inFlight(): number
  /** Stops accepting, closes idle connections, and breaks off event streams, which never end. Resolves once idle or `signal` aborts. */
  drain(signal: AbortSignal): Promise<void>
}

/** Serves `handler` on a node:http or node:https server that the caller created with SERVER_OPTIONS and listens on. */
export function serve(server: Server, options: ServingOptions): Serving {
  const state: ServingState = { inFlight: 0, isDraining: false, onIdle: () => {}, streams: new Set() }
  const unread = createFairShares(options.unreadBytes ?? HTTP_BOUNDS.unreadBytes)
  const context = {
    timeouts: BODY_TIMEOUTS,
    sources: NO_PROXIES,
    unread,
    lines: createLineBudget({ now: () => options.now() }),
    ...options,
    isDraining: () => state.isDraining,
    streams: state.streams,
  }
  const listen = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    state.inFlight++
    const due = noteDueAnswer(incoming, outgoing)
    outgoing.once('close', () => {
      state.inFlight--
      state.streams.delete(outgoing)
      if (state.inFlight === 0) state.onIdle()
    })
    // Requests sent before earlier answers arrived. Each takes memory, and none waits for a connection.
    if (due > HTTP_BOUNDS.requestsAhead) incoming.socket.destroy()
    else void answer(incoming, outgoing, context)
  }
  server.prependListener(server instanceof TlsServer ? 'secureConnection' : 'connection', boundUnread)
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

/**
 * Bounds what is read from a connection before a handler reads it: a body, and the input of a paused WebSocket or tunnel. A paused socket
 * reads up to its `highWaterMark`, and node:net gives both directions the value of SERVER_OPTIONS. Waiting pieces outlive young
 * collections, so V8 collects the whole heap to free them. Eight clients that flooded a port cost the agent 1.5 pauses of 30 ms a second.
 */
function boundUnread(socket: Socket): void {
  const { _readableState: reading } = socket as unknown as { _readableState: { highWaterMark: number } }
  reading.highWaterMark = UNREAD_BYTES
}

interface ServingState {
  inFlight: number
  isDraining: boolean
  onIdle(): void
  /** Answers that are streams of events. */
  streams: Set<ServerResponse>
}

async function drain(server: Server, state: ServingState, signal: AbortSignal): Promise<void> {
  state.isDraining = true
  server.close()
  server.closeIdleConnections()
  // Their clients continue elsewhere, or later, from the last cursor.
  for (const outgoing of state.streams) outgoing.destroy()
  if (state.inFlight > 0 && !signal.aborted) {
    await new Promise<void>((resolve) => {
      state.onIdle = resolve
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
  }
  server.closeAllConnections()
}

interface Answering extends ServingOptions {
  timeouts: BodyTimeouts
  sources: SourceAddresses
  /** Answers that wait for their clients, by account or source address. */
  unread: FairShares
  /** Bounds the lines of the log, because each client can break off as many answers as it likes. */
  lines: LineBudget
  isDraining(): boolean
  streams: Set<ServerResponse>
}

async function answer(incoming: IncomingMessage, outgoing: ServerResponse, options: Answering): Promise<void> {
  outgoing.on('error', () => {})
  const rest = restOfBody(incoming, options.timeouts)
  try {
    const request = toRequest(incoming, outgoing, options)
    let response: HttpResponse
    try {
      response = await options.handler(request)
    } catch (error) {
      const requestId = givenRequestId(request.headers) ?? newId('req', options.now())
      logBounded('failed requests', options.lines, (leftOut) =>
        options.logger.error('A request failed outside the app', { request_id: requestId, error, ...leftOut }),
      )
      response = problemResponse(error, requestId)
    }
    if (options.isDraining()) outgoing.shouldKeepAlive = false
    if (response.headers['content-type'] === EVENT_STREAM) options.streams.add(outgoing)
    rest.lingerOnClose()
    await sendResponse(outgoing, response)
    countUnread(outgoing, response.account ?? sourceKey(request.clientAddress), options.unread)
  } catch (error) {
    if (!options.isDraining() && !outgoing.destroyed)
      logBounded('broken answers', options.lines, (leftOut) =>
        options.logger.warn('A response was interrupted', { error, ...leftOut }),
      )
    outgoing.destroy()
  }
  rest.discard()
}

/** Converts a node:http pair to a request. Its body stays unread until the handler reads it. */
function toRequest(incoming: IncomingMessage, outgoing: ServerResponse, options: Answering): HttpRequest {
  const { timeouts, sources } = options
  let controller: AbortController | undefined
  const sendContinue = (): void => {
    if (awaitsContinue.delete(incoming)) outgoing.writeContinue()
  }
  const body = requestBody(incoming, { timeouts, sendContinue })
  return {
    ...requestHead(incoming, sources),
    get signal(): AbortSignal {
      controller ??= abortOnLeave(outgoing)
      return controller.signal
    },
    readBody: body.read,
    openBody: body.open,
  }
}

/** Returns the head of a request, with the address of its client. */
export function requestHead(
  incoming: IncomingMessage,
  sources: SourceAddresses,
): Pick<HttpRequest, 'method' | 'target' | 'headers' | 'clientAddress'> {
  return {
    method: incoming.method ?? 'GET',
    target: originForm(incoming.url ?? '/'),
    headers: incoming.headers,
    clientAddress: sources.clientOf(incoming.socket.remoteAddress ?? '', incoming.headers),
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

/** Converts an absolute-form target (RFC 9112 §3.2.2) to its path. `*` and others match no route. */
function originForm(target: string): string {
  if (target.startsWith('/')) return target
  const path = /^https?:\/\/[^/?#]*(\/.*)?$/i.exec(target)
  return path ? (path[1] ?? '/') : `/${target}`
}

/**
 * Sends an answer, and resolves when it is handed to the kernel. Reads a stream only as fast as the client takes it. Closes it unread if no
 * body is sent: after HEAD, with 204 and 304, and to a client that has left.
 */
async function sendResponse(outgoing: ServerResponse, response: HttpResponse): Promise<void> {
  const { body, status } = response
  const headers = { ...NOSNIFF, ...response.headers } as Record<string, string | string[]>
  const isBodiless = status === 204 || status === 304
  if (isStream(body)) {
    if (outgoing.destroyed || isBodiless || outgoing.req.method === 'HEAD') {
      await cancelStream(body)
      if (!outgoing.destroyed) outgoing.writeHead(status, headers).end()
      return
    }
    outgoing.writeHead(status, headers)
    if (body instanceof Readable) return sendStream(outgoing, body, response.openFlow)
    return sendPieces(outgoing, body, response.openFlow)
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

/** Counts a whole answer that the kernel did not accept at once. Cuts off the client if its account has too many. */
function countUnread(outgoing: ServerResponse, account: string, unread: FairShares): void {
  if (outgoing.destroyed || outgoing.writableLength === 0) return
  const release = unread.take(account, Math.max(outgoing.writableLength, ANSWER_BYTES))
  // An answer behind others has no socket yet.
  if (release === null) outgoing.req.socket.destroy()
  else outgoing.once('close', release)
}

/** Answers a request that the parser refuses, which never reaches the app, with a problem like the app's. */
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

/** Refuses CONNECT, which also never reaches the app. node:http releases its socket with all listeners. */
function refuseConnect(socket: Socket, options: ServingOptions): void {
  socket.on('error', () => {})
  if (hasDueAnswers(socket)) {
    socket.destroy()
    return
  }
  const refusal = new ServiceError('invalid_request', 'CONNECT is not supported, because this service is not a proxy.')
  endWithResponse(socket, problemResponse(refusal, newId('req', options.now())))
}

const EVENT_STREAM = 'text/event-stream'
const NO_PROXIES = createSourceAddresses([])
/** Memory that a request takes until its answer is sent, however short both are. */
const ANSWER_BYTES = 16 * 1024
/** Reached by the first long piece, which has up to 64 KiB (libuv). */
const UNREAD_BYTES = 1024
const awaitsContinue = new WeakSet<IncomingMessage>()
const UNPARSED_DETAILS: Record<string, string> = {
  HPE_HEADER_OVERFLOW: 'The request head is too large.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request took too long to arrive.',
}
