import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { Pool } from 'undici'
import { ServiceError } from '../../../shared/errors.ts'
import { createFairShares, type FairShares } from '../../../shared/fair-shares.ts'
import { dialUpgrade } from '../../../shared/http/dial.ts'
import type { HeaderMap } from '../../../shared/http/messages.ts'
import { refusal } from '../../../shared/refusals.ts'
import { CellSilence, createCellPulse, type LinkTls, type PulseTimes } from './cell-pulse.ts'

/** An unchanged request, for another cell. */
export interface PassedRequest {
  method: string
  target: string
  headers: Record<string, string>
  /** Aborts it. */
  signal: AbortSignal | null
  /** The owner of the request. Owners share the connections fairly. */
  owner: string
}

/** An answer of another cell. Its receiver must read or destroy the body. */
export interface PassedAnswer {
  status: number
  headers: HeaderMap
  body: Readable
}

/** A WebSocket that another cell has accepted, or its plain answer. */
export type PassedUpgrade = { socket: Socket; head: Buffer; rawHeaders: readonly string[] } | PassedAnswer

/** Connections to the agents of other cells, by the base URLs of their channels. */
export interface CellLinks {
  /**
   * @throws Error of the network, or CellSilence. `isUnsent` reports whether the request was sent. Throws ServiceError `rate_limited` if
   * the owner would have more connections to that cell than it leaves free
   */
  send(channelUrl: string, request: PassedRequest, body: Uint8Array | AsyncIterable<Uint8Array>): Promise<PassedAnswer>
  /** Sends an upgrade over its own connection. @throws Error of the network, or CellSilence */
  upgrade(channelUrl: string, request: PassedRequest): Promise<PassedUpgrade>
  /** Closes all connections, and aborts requests under way. */
  close(): Promise<void>
}

export interface CellLinkOptions {
  tls: LinkTls | null
  /** Most requests to one cell with incomplete answers. Default: as many as it gets connections. */
  requestsMax?: number
  /** When a cell that does not answer counts as unreachable. Default as `createCellPulse`. */
  pulseTimes?: PulseTimes
}

/** Creates the connections, over TLS with both certificates where `tls` is given. */
export function createCellLinks({ tls, requestsMax = CONNECTIONS_MAX, pulseTimes }: CellLinkOptions): CellLinks {
  const links = new Map<string, Link>()
  const pulse = createCellPulse({ tls, times: pulseTimes })
  let isClosed = false
  const checkOpen = (): void => {
    if (isClosed) throw new Error('the links to other cells are closed')
  }
  const linkTo = (channelUrl: string): Link => {
    checkOpen()
    const known = links.get(channelUrl)
    if (known !== undefined) return known
    const made = { pool: openPool(channelUrl, tls), shares: createFairShares(requestsMax) }
    links.set(channelUrl, made)
    return made
  }
  return {
    send: async (channelUrl, { method, target, headers, signal, owner }, body) => {
      // undici takes any iterable, unlike its types.
      const sent = body instanceof Uint8Array && body.length === 0 ? null : (body as Uint8Array)
      const { pool, shares } = linkTo(channelUrl)
      const release = shares.take(owner)
      if (release === null) throw tooMany()
      try {
        const {
          statusCode,
          headers: told,
          body: pieces,
        } = await pulse.watch(channelUrl, (silence) =>
          pool.request({ method, path: target, headers, body: sent, signal: eitherOf(signal, silence) }),
        )
        pieces.once('close', release)
        return { status: statusCode, headers: told, body: pieces }
      } catch (error) {
        release()
        throw error
      }
    },
    upgrade: async (channelUrl, request) => {
      checkOpen()
      return pulse.watch(channelUrl, (silence) =>
        dial(channelUrl, { ...request, signal: eitherOf(request.signal, silence) }, tls),
      )
    },
    close: async () => {
      isClosed = true
      pulse.close()
      const open = [...links.values()]
      links.clear()
      await Promise.all(open.map(({ pool }) => pool.destroy()))
    },
  }
}

/** The connections to one cell. */
interface Link {
  pool: Pool
  /** Shares its connections by owner. */
  shares: FairShares
}

function openPool(channelUrl: string, tls: LinkTls | null): Pool {
  return new Pool(channelUrl, {
    connections: CONNECTIONS_MAX,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    // Waits and events have limits of their own, and end with their client.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: CONNECT_MS, noDelay: true, ...tls },
  })
}

function eitherOf(one: AbortSignal | null, other: AbortSignal): AbortSignal {
  return one === null ? other : AbortSignal.any([one, other])
}

/** Returns true if a cell certainly received nothing of a request that failed. */
export function isUnsent(error: unknown): boolean {
  if (error instanceof CellSilence) return !error.wasSent
  return error === undefined || UNSENT.has(String((error as { code?: unknown }).code))
}

function tooMany(): ServiceError {
  const why = 'Too many requests for boxes and volumes of one node are not answered yet.'
  return refusal('rate_limited', [why, 'Try again in 1 s.'], { headers: { 'Retry-After': '1' } })
}

/**
 * Makes the error for a cell whose agent does not answer. `which`, such as `, which made the base,`, describes why that cell is needed.
 * If `isChange`, it says that the cell may have received the change.
 */
export function cellAway(
  cell: string,
  cause?: unknown,
  { which = '', isChange = false }: { which?: string; isChange?: boolean } = {},
): ServiceError {
  const doubt = isChange && !isUnsent(cause) ? '. The request may still take effect' : ''
  const detail = `The agent of cell ${cell}${which} is unreachable${doubt}.`
  return new ServiceError('agent_unavailable', detail, { headers: { 'Retry-After': '2' }, cause })
}

async function dial(channelUrl: string, request: PassedRequest, tls: LinkTls | null): Promise<PassedUpgrade> {
  const { response, upgraded } = await dialUpgrade(channelUrl, request, { tls, connectMs: CONNECT_MS })
  if (upgraded !== null) return { ...upgraded, rawHeaders: response.rawHeaders }
  return { status: response.statusCode ?? 0, headers: response.headers, body: response }
}

/** Error codes of connections that were never made. */
const UNSENT: ReadonlySet<string> = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'])
/** Most requests to one cell at once. Each long wait holds a connection. */
const CONNECTIONS_MAX = 1_024
/** Below an agent's own, so that it is never the first to close an idle connection. */
const KEEP_ALIVE_MS = 30_000
const CONNECT_MS = 3_000
