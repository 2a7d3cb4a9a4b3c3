import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { Pool } from 'undici'
import { ServiceError } from '../../shared/errors.ts'
import type { HeaderMap } from '../../shared/http/messages.ts'

/** A request as it came, for another cell. */
export interface PassedRequest {
  method: string
  target: string
  headers: Record<string, string>
  /** Aborts it. */
  signal: AbortSignal | null
}

/** An answer of another cell; its body is read or destroyed by who takes it. */
export interface PassedAnswer {
  status: number
  headers: HeaderMap
  body: Readable
}

/** A WebSocket that another cell has accepted, or its plain answer. */
export type PassedUpgrade = { socket: Socket; head: Buffer; rawHeaders: readonly string[] } | PassedAnswer

/** Connections to the agents of other cells, by the base URLs of their channels. */
export interface CellLinks {
  /** @throws Error of the network, whether the request has been sent is not known; or if too many wait for that cell */
  send(channelUrl: string, request: PassedRequest, body: Uint8Array | AsyncIterable<Uint8Array>): Promise<PassedAnswer>
  /** Sends an upgrade over a connection of its own. @throws Error of the network */
  upgrade(channelUrl: string, request: PassedRequest): Promise<PassedUpgrade>
  /** Closes all, with what is under way. */
  close(): Promise<void>
}

/** Certificates of this agent towards others, in PEM. */
export interface LinkTls {
  ca: string
  cert: string
  key: string
}

export interface CellLinkOptions {
  tls: LinkTls | null
  /** Most requests that wait for the head of an answer of one cell; default: as many as it gets connections. */
  waitingMax?: number
}

/** Creates the links, over TLS with both certificates where `tls` is given. */
export function createCellLinks({ tls, waitingMax = CONNECTIONS_MAX }: CellLinkOptions): CellLinks {
  const pools = new Map<string, Pool>()
  const waiting = new Map<string, number>()
  let isClosed = false
  const checkOpen = (): void => {
    if (isClosed) throw new Error('the links to other cells are closed')
  }
  const poolOf = (channelUrl: string): Pool => {
    checkOpen()
    const known = pools.get(channelUrl)
    if (known !== undefined) return known
    const pool = new Pool(channelUrl, {
      connections: CONNECTIONS_MAX,
      pipelining: 1,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
      // Waits and events have limits of their own, and end with their client.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { timeout: CONNECT_MS, noDelay: true, ...tls },
    })
    pools.set(channelUrl, pool)
    return pool
  }
  return {
    send: async (channelUrl, { method, target, headers, signal }, body) => {
      // undici takes any iterable, unlike its types.
      const sent = body instanceof Uint8Array && body.length === 0 ? null : (body as Uint8Array)
      const pool = poolOf(channelUrl)
      const before = waiting.get(channelUrl) ?? 0
      if (before >= waitingMax) throw new Error(`${before} requests wait for its answers`)
      waiting.set(channelUrl, before + 1)
      try {
        const answer = await pool.request({ method, path: target, headers, body: sent, signal })
        return { status: answer.statusCode, headers: answer.headers, body: answer.body }
      } finally {
        const left = (waiting.get(channelUrl) ?? 1) - 1
        if (left === 0) waiting.delete(channelUrl)
        else waiting.set(channelUrl, left)
      }
    },
    upgrade: async (channelUrl, request) => {
      checkOpen()
      return dial(channelUrl, request, tls)
    },
    close: async () => {
      isClosed = true
      const open = [...pools.values()]
      pools.clear()
      await Promise.all(open.map((pool) => pool.destroy()))
    },
  }
}

/** Makes the error for a cell whose agent does not answer; `which`, such as `, which made the base,`, says what it is asked for. */
export function cellAway(cell: string, cause?: unknown, which = ''): ServiceError {
  const detail = `The agent of cell ${cell}${which} cannot be reached.`
  return new ServiceError('agent_unavailable', detail, { headers: { 'Retry-After': '2' }, cause })
}

function dial(channelUrl: string, request: PassedRequest, tls: LinkTls | null): Promise<PassedUpgrade> {
  const { method, target, headers, signal } = request
  const url = new URL(channelUrl)
  const start = tls === null ? httpRequest : httpsRequest
  return new Promise((resolve, reject) => {
    const outgoing = start({
      ...{ host: url.hostname.replace(/^\[|\]$/g, ''), port: url.port, agent: false, ...tls },
      ...{ method, path: target, headers, ...(signal === null ? {} : { signal }) },
    })
    const late = setTimeout(() => outgoing.destroy(new Error(`no connection within ${CONNECT_MS} ms`)), CONNECT_MS)
    outgoing.once('socket', (socket) => {
      socket.once(tls === null ? 'connect' : 'secureConnect', () => clearTimeout(late))
    })
    outgoing.setNoDelay(true)
    outgoing.once('close', () => clearTimeout(late))
    outgoing.on('error', reject)
    outgoing.once('upgrade', ({ rawHeaders }: IncomingMessage, socket: Socket, head: Buffer) => {
      socket.on('error', () => undefined)
      resolve({ socket, head, rawHeaders })
    })
    outgoing.once('response', (body) => resolve({ status: body.statusCode ?? 0, headers: body.headers, body }))
    outgoing.end()
  })
}

/** Of requests to one cell at once: long waits each hold a connection. */
const CONNECTIONS_MAX = 1_024
/** Below an agent's own, so that it is never the first to close an idle connection. */
const KEEP_ALIVE_MS = 30_000
const CONNECT_MS = 3_000
