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

/** The transport of a long-lived front: undici's pool, twice as fast as node:http and too heavy for a function. */
export function createPoolTransport(options: { agentUrl: string; tls: ChannelTls | null }): AgentTransport {
  const pool = new Pool(options.agentUrl, {
    connections: CONNECTIONS_MAX,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    connect: { timeout: CONNECT_TIMEOUT_MS, noDelay: true, ...options.tls },
  })
  let waiting = 0
  return {
    send: async (request) => {
      if (waiting >= WAITING_MAX) throw overloaded()
      waiting++
      try {
        return await answerOf(await pool.request(requestOptions(request)))
      } catch (error) {
        throw failureOf(error, request)
      } finally {
        waiting--
      }
    },
    close: () => pool.close(),
  }
}

function requestOptions(request: AgentRequest): Dispatcher.RequestOptions {
  const { method, target, headers, body, signal, timeoutMs } = request
  return {
    method,
    path: target,
    headers,
    body: body.length === 0 ? null : body,
    signal,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  }
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

/** Most requests that wait for their answer, connected or queued. */
const WAITING_MAX = 8_192
