import { type HeaderMap, type HttpRequest, type HttpResponse, headerOf } from '../shared/http/messages.ts'
import type { Operation } from '../shared/operation.ts'
import { failureError, responseOf } from './agent-answer.ts'
import { REFUSAL_RETRIES, type Signed, type Signing } from './signing.ts'
import { type AgentAnswer, type AgentTransport, TransportFailure } from './transport.ts'

/** A request that has passed every check of the front. */
export interface ForwardedRequest {
  request: HttpRequest
  operation: Operation
  requestId: string
  /** The owner that it is sent for (`ownerOf`). */
  owner: string
  body: Uint8Array
}

/**
 * Forwards a request and returns the agent's answer, unchanged except for headers that concern only the channel.
 * @throws ServiceError `agent_unavailable`, `agent_timeout`, `agent_protocol`, `invalid_request` for a header that cannot be forwarded
 */
export type Forward = (forwarded: ForwardedRequest) => Promise<HttpResponse>

/** The same as `Forward`, for a body of bytes that is not read yet. */
export type ForwardBytes = (forwarded: Omit<ForwardedRequest, 'body'>) => Promise<HttpResponse>

export interface ForwardOptions {
  transport: AgentTransport
  signing: Signing
  timeoutMs: number
  /** Longest answer of bytes that the host of the front can carry, sent to the agent. Null for no limit. */
  answerBytesMax: number | null
}

/**
 * Signs requests and forwards them to the agent. Retries once, and only if that is safe. This covers a GET, and a request that was never
 * sent. It also covers one that the agent refused unread because the keys were old or the agent has restarted.
 */
export function createForward(options: ForwardOptions): Forward {
  const { transport, signing, timeoutMs, answerBytesMax } = options
  const attempt = async (forwarded: ForwardedRequest): Promise<Attempt<AgentAnswer>> => {
    const signed = signing.sign(forwarded)
    const { method, target, headers } = signed
    const signal = method === 'GET' ? forwarded.request.signal : null
    // Health probes time out long before other requests.
    const limitMs = forwarded.operation.id === 'getHealth' ? Math.min(timeoutMs, HEALTH_TIMEOUT_MS) : timeoutMs
    const { body, operation, owner } = forwarded
    const isBulk = operation.bytesOut !== null
    const sent = { method, target, headers, body, signal, timeoutMs: limitMs, isBulk, owner }
    return { signed, answer: await transport.send(sent) }
  }
  return async (given) => {
    const forwarded = answerBytesMax === null ? given : withAnswerBytesMax(given, answerBytesMax)
    const { operation, requestId } = forwarded
    const options = { signing, requestId, isSafe: operation.method === 'GET' }
    return responseOf(await sendSigned(() => attempt(forwarded), options), forwarded)
  }
}

/** A signed request, and the answer to it. */
export interface Attempt<T> {
  signed: Signed
  answer: T
}

/**
 * Signs and sends with `attempt`, and returns the answer. Retries once if the request was never sent, and with `isSafe` also if it may have
 * been sent. Signs again if the agent refused the request unread and would accept a new signature.
 * @throws ServiceError `agent_unavailable`, `agent_timeout`, `agent_protocol`
 */
export async function sendSigned<T extends { headers: HeaderMap }>(
  attempt: () => Promise<Attempt<T>>,
  { signing, requestId, isSafe }: { signing: Signing; requestId: string; isSafe: boolean },
): Promise<T> {
  try {
    let { signed, answer } = await attemptTwice(attempt, { isSafe })
    for (let retries = 0; retries < REFUSAL_RETRIES && signing.mayRetry(signed, answer, requestId); retries++) {
      ;({ signed, answer } = await attempt())
    }
    return answer
  } catch (error) {
    throw error instanceof TransportFailure ? failureError(error) : error
  }
}

async function attemptTwice<T>(attempt: () => Promise<T>, { isSafe }: { isSafe: boolean }): Promise<T> {
  try {
    return await attempt()
  } catch (error) {
    const isWorthIt = error instanceof TransportFailure && error.reason === 'unreachable' && (isSafe || !error.wasSent)
    if (!isWorthIt) throw error
    if (!error.wasSent) await new Promise((resolve) => setTimeout(resolve, RETRY_DELAY_MS))
    return attempt()
  }
}

/** Puts the front's preference (RFC 7240) before the client's, because the agent follows the first one. */
function withAnswerBytesMax(forwarded: ForwardedRequest, maxBytes: number): ForwardedRequest {
  const { request, operation } = forwarded
  if (operation.bytesOut === null) return forwarded
  const given = headerOf(request.headers, 'prefer')
  const prefer = `answer-bytes-max=${maxBytes}${given ? `, ${given}` : ''}`
  return { ...forwarded, request: { ...request, headers: { ...request.headers, prefer } } }
}

/** Minimum time that an agent needs to restart. */
const RETRY_DELAY_MS = 100
/** Common time-out of a load balancer's health check. */
const HEALTH_TIMEOUT_MS = 5_000
