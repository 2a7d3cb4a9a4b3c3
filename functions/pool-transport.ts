import type { Readable } from 'node:stream'
import { type Dispatcher, Pool } from 'undici'
import type { ChannelTls } from './config.ts'
import {
  type AgentAnswer,
  type AgentRequest,
  type AgentTransport,
  CONNECT_TIMEOUT_MS,
  CONNECTIONS_MAX,
  failureOf,
  KEEP_ALIVE_MS,
  TransportFailure,
  WHOLE_BODY_MAX_BYTES,
} from './transport.ts'

/** A request to the agent with a streamed body; `headers` give its length if that is known. */
export interface AgentUpload extends Omit<AgentRequest, 'body' | 'isBulk'> {
  /** An error of the iterator aborts the request. */
  body: AsyncIterable<Uint8Array>
  /** Time-out in ms between pieces of the answer; before its head only `signal` ends the request. */
  timeoutMs: number
}

/** A transport that takes bodies of any length. */
export interface PoolTransport extends AgentTransport {
  /** Returns the answer, even if that comes before the end of the body. @throws TransportFailure, and nothing else */
  upload(request: AgentUpload): Promise<AgentAnswer>
}

/** Creates the transport of a long-lived front: undici's pool, twice as fast as node:http and too heavy for a function. */
export function createPoolTransport(options: { agentUrl: string; tls: ChannelTls | null }): PoolTransport {
  const settings: Pool.Options = {
    connections: CONNECTIONS_MAX,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    connect: { timeout: CONNECT_TIMEOUT_MS, noDelay: true, ...options.tls },
  }
  const pool = new Pool(options.agentUrl, settings)
  // A pool of its own, so that clients who send or take large bodies slowly leave connections to the others.
  const bulk = new Pool(options.agentUrl, settings)
  let waiting = 0
  const exchange = async (through: Pool, wanted: Dispatcher.RequestOptions & Pick<AgentRequest, 'signal'>) => {
    if (waiting >= WAITING_MAX) throw overloaded()
    waiting++
    try {
      return await answerOf(await through.request(wanted))
    } catch (error) {
      throw failureOf(error, wanted)
    } finally {
      waiting--
    }
  }
  return {
    send: (request) => exchange(request.isBulk ? bulk : pool, requestOptions(request)),
    upload: (request) => exchange(bulk, uploadOptions(request)),
    close: async () => {
      await Promise.all([pool.close(), bulk.close()])
    },
  }
}

function requestOptions({ method, target, headers, body, signal, timeoutMs }: AgentRequest) {
  const path = target
  const timeouts = { headersTimeout: timeoutMs, bodyTimeout: timeoutMs }
  return { method, path, headers, body: body.length === 0 ? null : body, signal, ...timeouts }
}

function uploadOptions({ method, target, headers, body, signal, timeoutMs }: AgentUpload) {
  // undici takes any iterable, unlike its types.
  const pieces = body as unknown as Readable
  return { method, path: target, headers, body: pieces, signal, headersTimeout: 0, bodyTimeout: timeoutMs }
}

async function answerOf(response: Dispatcher.ResponseData): Promise<AgentAnswer> {
  const { statusCode: status, headers, body } = response
  const isWhole = Number(headers['content-length'] ?? Number.POSITIVE_INFINITY) <= WHOLE_BODY_MAX_BYTES
  if (isWhole || status === 204 || status === 304) return { status, headers, body: await body.bytes() }
  return { status, headers, body }
}

function overloaded(): TransportFailure {
  const cause = new Error(`more than ${WAITING_MAX} requests wait for the agent`)
  return new TransportFailure('unreachable', { wasSent: true, cause })
}

/** Requests that wait for their answer at once, connected or queued. */
const WAITING_MAX = 8_192
