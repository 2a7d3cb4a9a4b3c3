import { boundTo } from './aborts.ts'
import { obstacleOf, parseUrl, SCHEMES } from './addresses.ts'
import { ApiError, ConnectionError } from './api-error.ts'
import { authorizationOf } from './authorization.ts'
import type { Caller, CallerBody, SizedStream } from './calls.ts'
import { OPERATIONS } from './generated/operations.ts'
import { refusalFrom } from './held-answers.ts'
import { type MessageSocket, openNodeSocket, openWebSocket } from './message-socket.ts'
import { fillPath } from './path-parameters.ts'
import { isNode } from './platform.ts'
import { toApiError, unexpectedAnswer } from './problems.ts'
import { redirectOf } from './redirects.ts'

/** Operations with tickets. */
export type StreamId = SocketId | TransferId
/** Operations that send or receive bytes. */
export type TransferId = 'readFile' | 'writeFile' | 'readArchive' | 'writeArchive' | 'createBase'
/** Operations over a WebSocket. */
export type SocketId = 'streamExec' | 'openConsole' | 'openPort'

export interface DoorOptions {
  url: string
  token(): string | null
  /**
   * `auto` uses tickets in a browser and where the front cannot stream. `always` never streams through the front. `front` gets a ticket for
   * a WebSocket, and presents it at the front.
   */
  tickets: 'auto' | 'always' | 'front'
  fetch(request: Request): Promise<Response>
}

/**
 * Bytes to send. A stream can be read only once. A function creates it, and creates another to resend it. A resend happens if the front
 * turns out to be a function that accepts no body of such a length.
 */
export type UploadBody = OneBody | (() => ReadableStream<Uint8Array> | SizedStream)

type OneBody = CallerBody | SizedStream

/** A box, or only its project, and the query of a request to it. */
export interface StreamTarget {
  project: string
  name?: string | undefined
  query: Query
  /** For `openPort`. */
  port?: number | undefined
  /** The same as in SocketAddress. */
  queuedMaxBytes?: number | undefined
  signal?: AbortSignal | undefined
}

export type Query = Record<string, string | string[]>

/** Opens streams at the front, or at the data address with a ticket. */
export interface Doors {
  /** A signal of the target cancels the opening, and closes the socket at once. */
  openSocket(id: SocketId, target: StreamTarget, protocol: string): Promise<MessageSocket>
  /** Sends or receives bytes. @throws ApiError `body_too_large` for a stream that cannot be resent with a ticket; ConnectionError */
  transfer(id: TransferId, target: StreamTarget, body?: UploadBody): Promise<Response>
}

export function createDoors(caller: Caller, { url, token, tickets, fetch }: DoorOptions): Doors {
  // Skips a front that was found to be a function.
  let needsTickets = tickets === 'always' || (tickets === 'auto' && !isNode())
  const takeTicket = async (operation: StreamId, target: StreamTarget): Promise<{ url: string; id: string | null }> => {
    const { project, name = '', query, port, signal } = target
    const ticket =
      operation === 'createBase'
        ? await caller.call('createProjectTicket', { path: { project }, body: { operation, query }, signal })
        : await caller.call('createTicket', {
            ...{ path: { project, name }, signal },
            body: { operation, query, ...(port === undefined ? {} : { port }) },
          })
    return { url: textOfTicket(ticket.url), id: typeof ticket.exec_id === 'string' ? ticket.exec_id : null }
  }
  return {
    openSocket: async (id, target, protocol) => {
      const open = isNode() ? openNodeSocket : openWebSocket
      const { signal, queuedMaxBytes } = target
      signal?.throwIfAborted()
      const opening = { protocol, signal, queuedMaxBytes }
      if (!needsTickets && tickets !== 'front') {
        const headers = { ...authorizationOf(token()) }
        try {
          const address = addressOf(url, id, target).replace(/^http/, 'ws')
          return boundTo(await openNodeSocket({ url: address, ...opening }, headers), signal)
        } catch (error) {
          if (!(error instanceof ApiError && CANNOT_STREAM.has(error.code))) throw error
          needsTickets = true
        }
      }
      const ticket = await takeTicket(id, target)
      const address = tickets === 'front' ? atFront(url, ticket.url) : checkTicket(url, ticket.url, SCHEMES.socket)
      const socket = await open({ url: address, ...opening }, {})
      // Browsers hide the headers of the answer.
      return boundTo({ ...socket, id: socket.id ?? ticket.id }, signal)
    },
    transfer: async (id, target, given) => {
      const { project, name, query, signal } = target
      const make = typeof given === 'function' ? given : (): OneBody | undefined => given
      const first = await bodyOf(make())
      const contentType = id === 'writeFile' ? 'application/octet-stream' : 'application/x-tar'
      const { body, headers } = first
      let again = first
      if (!needsTickets) {
        try {
          return await caller.transfer(id, {
            path: name === undefined ? { project } : { project, name },
            query,
            signal,
            headers,
            ...(body === undefined ? {} : { body, contentType }),
          })
        } catch (error) {
          const isTooLarge = error instanceof ApiError && error.status === TOO_LARGE
          if (!isTooLarge || body === undefined) throw error
          if (body instanceof ReadableStream && typeof given !== 'function') throw tooLong(error)
          again = body instanceof ReadableStream ? await bodyOf(make()) : first
        }
      }
      const ticket = await takeTicket(id, target)
      const address = checkTicket(url, ticket.url, SCHEMES.http)
      const { method } = OPERATIONS[id]
      const init = { method, signal: signal ?? null, redirect: redirectOf(method) }
      const response = await fetch(new Request(address, { ...init, ...sendingOf(again, contentType) }))
      if (!response.ok) throw await refusalFrom(response)
      return response
    },
  }
}

/** Returns a body as this platform sends it, with the headers that announce its length. */
async function bodyOf(given: OneBody | undefined): Promise<SentBody> {
  const isSized = typeof given === 'object' && 'sizeBytes' in given
  const body = isSized ? given.stream : given
  // Browsers send a stream only over HTTP/2.
  if (body instanceof ReadableStream && !isNode()) return { body: await new Response(body).blob(), headers: {} }
  return { body, headers: isSized ? { 'content-length': String(given.sizeBytes) } : {} }
}

function sendingOf({ body, headers }: SentBody, contentType: string): RequestInit {
  if (body === undefined) return {}
  const sent = { body: body as Blob, headers: { ...headers, 'content-type': contentType } }
  // Some platforms' types lack `duplex`.
  const streamed: RequestInit & { duplex: 'half' } = { ...sent, duplex: 'half' }
  return body instanceof ReadableStream ? streamed : sent
}

interface SentBody {
  body: CallerBody | undefined
  headers: Record<string, string>
}

function addressOf(url: string, id: StreamId, { project, name, port, query }: StreamTarget): string {
  const path = fillPath(OPERATIONS[id].path, { project, name, port })
  const text = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) for (const each of [value].flat()) text.append(key, each)
  return `${url.replace(/\/+$/, '')}${path}?${text.toString()}`
}

function textOfTicket(url: unknown): string {
  if (typeof url === 'string' && url !== '') return url
  throw new ConnectionError('The front cannot stream, and the service has no data address.')
}

/** Returns the URL of a ticket if the client accepts its address. @throws ApiError */
function checkTicket(front: string, url: string, schemes: readonly string[]): string {
  const obstacle = obstacleOf(front, url, schemes)
  if (obstacle === null) return url
  throw unexpectedAnswer(200, `The ticket leads to an address that this client rejects: ${obstacle}`)
}

/** Returns the front's URL that accepts the ticket of a WebSocket at the data address. */
function atFront(url: string, ticketUrl: string): string {
  const target = parseUrl(ticketUrl, url)
  if (target === null) throw unexpectedAnswer(200, 'The ticket is not a URL.')
  const { pathname, search } = target
  return `${url.replace(/\/+$/, '').replace(/^http/, 'ws')}${pathname}${search}`
}

/** The error of a stream that is too long for a front and has already been read. */
function tooLong(error: ApiError): ApiError {
  const detail =
    `The front refused this length (${error.message}), and a stream that was read cannot be sent to the data address. ` +
    'Pass a function that creates the stream, or set tickets to "always".'
  const problem = { code: 'body_too_large', detail, request_id: error.requestId }
  return Object.assign(toApiError(TOO_LARGE, problem), { cause: error })
}

/** Status of a front that is a function for an upgrade. */
const CANNOT_STREAM = new Set(['upgrade_required', 'unexpected_answer'])
/** The status of a body that is larger than the event of a function, also from API Gateway. */
const TOO_LARGE = 413
