import { Readable } from 'node:stream'
import { type Dispatcher, Pool } from 'undici'
import { createFairTurns, type FairTurns } from '../shared/fair-turns.ts'
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

/** A request to the agent with a streamed body. `headers` state its length if it is known. */
export interface AgentUpload extends Omit<AgentRequest, 'body' | 'isBulk'> {
  /** An error of the iterator aborts the request. */
  body: AsyncIterable<Uint8Array>
  /** Time-out in ms between pieces of the answer. Before its head, only `signal` ends the request. */
  timeoutMs: number
}

/** A transport for bodies of any length. */
export interface PoolTransport extends AgentTransport {
  /** Returns the answer, even if it arrives before the end of the body. @throws only TransportFailure */
  upload(request: AgentUpload): Promise<AgentAnswer>
}

/** Creates the transport of a long-lived front: undici's pool, twice as fast as node:http and too heavy for a function. */
export function createPoolTransport(options: {
  agentUrl: string
  tls: ChannelTls | null
  /** Maximum number of connections, each for usual and for bulk requests. Default: CONNECTIONS_MAX. */
  connections?: number
}): PoolTransport {
  const { connections = CONNECTIONS_MAX } = options
  const settings: Pool.Options = {
    connections,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    connect: { timeout: CONNECT_TIMEOUT_MS, noDelay: true, ...options.tls },
  }
  const open = (): Way => ({
    pool: new Pool(options.agentUrl, settings),
    turns: createFairTurns(connections, WAITING_MAX),
  })
  const usual = open()
  // A separate pool, so that clients that send or read large bodies slowly leave connections to the others.
  const bulk = open()
  return {
    send: (request) => exchange(request.isBulk ? bulk : usual, requestOptions(request), request),
    upload: (request) => exchange(bulk, uploadOptions(request), request),
    close: async () => {
      await Promise.all([usual.pool.close(), bulk.pool.close()])
    },
  }
}

/** Connections to the agent. Each carries the request whose turn it is. */
interface Way {
  pool: Pool
  turns: FairTurns
}

async function exchange(
  { pool, turns }: Way,
  wanted: Dispatcher.RequestOptions,
  request: Pick<AgentRequest, 'owner' | 'signal' | 'timeoutMs'>,
): Promise<AgentAnswer> {
  const end = turns.take(request.owner) ?? (await waitForTurn(turns, request))
  try {
    const answer = await answerOf(await pool.request(wanted))
    // A streamed answer keeps its connection until it is read or cancelled.
    if (answer.body instanceof Readable) answer.body.once('close', end)
    else end()
    return answer
  } catch (error) {
    end()
    throw failureOf(error, request)
  }
}

async function waitForTurn(
  turns: FairTurns,
  { owner, signal, timeoutMs }: Pick<AgentRequest, 'owner' | 'signal' | 'timeoutMs'>,
): Promise<() => void> {
  const late = AbortSignal.timeout(timeoutMs)
  try {
    return await turns.wait(owner, signal === null ? late : AbortSignal.any([signal, late]))
  } catch (cause) {
    const reason = signal?.aborted ? 'aborted' : 'unreachable'
    throw new TransportFailure(reason, { wasSent: true, cause })
  }
}

function requestOptions({ method, target, headers, body, signal, timeoutMs }: AgentRequest) {
  const path = target
  const timeouts = { headersTimeout: timeoutMs, bodyTimeout: timeoutMs }
  return { method, path, headers, body: body.length === 0 ? null : body, signal, ...timeouts }
}

function uploadOptions({ method, target, headers, body, signal, timeoutMs }: AgentUpload) {
  // undici accepts any iterable, unlike its types.
  const pieces = body as unknown as Readable
  return { method, path: target, headers, body: pieces, signal, headersTimeout: 0, bodyTimeout: timeoutMs }
}

async function answerOf(response: Dispatcher.ResponseData): Promise<AgentAnswer> {
  const { statusCode: status, headers, body } = response
  const isWhole = Number(headers['content-length'] ?? Number.POSITIVE_INFINITY) <= WHOLE_BODY_MAX_BYTES
  if (isWhole || status === 204 || status === 304) return { status, headers, body: await body.bytes() }
  return { status, headers, body }
}

/** Maximum number of requests that wait for a connection. */
const WAITING_MAX = 8_192
