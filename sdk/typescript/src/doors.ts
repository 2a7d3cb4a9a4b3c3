import { ApiError } from './api-error.ts'
import type { Caller, TransferInput } from './calls.ts'
import { OPERATIONS } from './generated/operations.ts'
import { type MessageSocket, openNodeSocket, openWebSocket } from './message-socket.ts'
import { parseJson, toApiError } from './problems.ts'

/** Operations of a box that a ticket may be had for. */
export type StreamId = SocketId | 'readFile' | 'writeFile' | 'readArchive' | 'writeArchive'
/** Those over a WebSocket. */
export type SocketId = 'streamExec' | 'openConsole' | 'openPort'

export interface DoorOptions {
  url: string
  token(): string | null
  /** `auto` takes one where the front cannot stream, and in a browser; `always` never streams by the front. */
  tickets: 'auto' | 'always'
  fetch(request: Request): Promise<Response>
}

/** A box, and the query of a request to it. */
export interface StreamTarget {
  project: string
  name: string
  query: Query
  /** For `openPort`. */
  port?: number | undefined
  signal?: AbortSignal | undefined
}

export type Query = Record<string, string | string[]>

/** Opens streams at the front, or at the data address with a ticket. */
export interface Doors {
  openSocket(id: SocketId, target: StreamTarget, protocol: string): Promise<MessageSocket>
  /** Sends or takes bytes. @throws ApiError, ConnectionError */
  transfer(id: StreamId, target: StreamTarget, body?: TransferInput['body']): Promise<Response>
}

export function createDoors(caller: Caller, { url, token, tickets, fetch }: DoorOptions): Doors {
  // Once a front was found to be a function, it is not asked again.
  let needsTickets = tickets === 'always' || !isNode()
  const takeTicket = async (operation: StreamId, target: StreamTarget): Promise<{ url: string; id: string | null }> => {
    const { project, name, query, port, signal } = target
    const body = { operation, query, ...(port === undefined ? {} : { port }) }
    const ticket = await caller.call('createTicket', { path: { project, name }, body, signal })
    return { url: ticket.url ?? '', id: ticket.exec_id ?? null }
  }
  return {
    openSocket: async (id, target, protocol) => {
      const open = isNode() ? openNodeSocket : openWebSocket
      if (!needsTickets) {
        const bearer = token()
        try {
          const headers: Record<string, string> = bearer === null ? {} : { authorization: `Bearer ${bearer}` }
          const address = { url: addressOf(url, id, target).replace(/^http/, 'ws'), protocol }
          return await openNodeSocket(address, headers)
        } catch (error) {
          if (!(error instanceof ApiError && CANNOT_STREAM.has(error.code))) throw error
          needsTickets = true
        }
      }
      const ticket = await takeTicket(id, target)
      const socket = await open({ url: ticket.url, protocol }, {})
      // Browsers tell no header of the answer.
      return { ...socket, id: socket.id ?? ticket.id }
    },
    transfer: async (id, target, given) => {
      const { project, name, query, signal } = target
      // Browsers send a stream only over HTTP/2.
      const body = given instanceof ReadableStream && !isNode() ? await new Response(given).blob() : given
      const contentType = id === 'writeArchive' ? 'application/x-tar' : 'application/octet-stream'
      if (!needsTickets) {
        try {
          return await caller.transfer(id, {
            path: { project, name },
            query,
            signal,
            ...(body === undefined ? {} : { body, contentType }),
          })
        } catch (error) {
          const isTooLarge = error instanceof ApiError && CANNOT_STREAM.has(error.code)
          if (!isTooLarge || body === undefined || body instanceof ReadableStream) throw error
        }
      }
      const { url: address } = await takeTicket(id, target)
      const request = new Request(address, {
        method: OPERATIONS[id].method,
        ...(body === undefined ? {} : { body: body as Blob, headers: { 'content-type': contentType } }),
        ...(body instanceof ReadableStream ? { duplex: 'half' } : {}),
        signal: signal ?? null,
      })
      const response = await fetch(request)
      if (!response.ok) throw toApiError(response.status, parseJson(await response.text()))
      return response
    },
  }
}

function addressOf(url: string, id: StreamId, { project, name, port, query }: StreamTarget): string {
  const path = OPERATIONS[id].path.replace('{project}', project).replace('{name}', name).replace('{port}', String(port))
  const text = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) for (const each of [value].flat()) text.append(key, each)
  return `${url.replace(/\/+$/, '')}${path}?${text.toString()}`
}

/** Whether this is Node.js, or has its modules, as Bun and Deno do: headers can be sent with a WebSocket, and bodies streamed. */
function isNode(): boolean {
  return typeof process === 'object' && typeof process.versions?.node === 'string'
}

/** How a front that is a function answers to an upgrade, and to a body that is larger than its event. */
const CANNOT_STREAM = new Set(['upgrade_required', 'body_too_large', 'unexpected_answer'])
