import { setTimeout as sleep } from 'node:timers/promises'
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
  body: Uint8Array
}

/**
 * Gives the agent's answer, unchanged but for headers that are between us and the agent.
 * @throws ServiceError `agent_unavailable`, `agent_timeout`, `agent_protocol`, `invalid_request` for a header that
 * cannot be passed on
 */
export type Forward = (forwarded: ForwardedRequest) => Promise<HttpResponse>

/** The same for a request whose body is bytes, of which none has been read. */
export type ForwardBytes = (forwarded: Omit<ForwardedRequest, 'body'>) => Promise<HttpResponse>

export interface ForwardOptions {
  transport: AgentTransport
  signing: Signing
  timeoutMs: number
  /** The longest answer of bytes that the host of the front can carry, which the agent is told; null: any. */
  answerBytesMax: number | null
}

/**
 * Signs requests and carries them to the agent. Tries once more only where that is safe: a GET, a request that never
 * left, or one that the agent refused to look at because our keys were old or it has started again.
 */
export function createForward(options: ForwardOptions): Forward {
  const { transport, signing, timeoutMs, answerBytesMax } = options
  const attempt = async (forwarded: ForwardedRequest): Promise<Attempt<AgentAnswer>> => {
    const signed = signing.sign(forwarded)
    const { method, target, headers } = signed
    const signal = method === 'GET' ? forwarded.request.signal : null
    // Whoever probes health gives up long before a request has to.
    const patienceMs = forwarded.operation.id === 'getHealth' ? Math.min(timeoutMs, HEALTH_TIMEOUT_MS) : timeoutMs
    const { body, operation } = forwarded
    const isBulk = operation.bytesOut !== null
    const sent = { method, target, headers, body, signal, timeoutMs: patienceMs, isBulk }
    return { signed, answer: await transport.send(sent) }
  }
  return async (given) => {
    const forwarded = answerBytesMax === null ? given : withAnswerBytesMax(given, answerBytesMax)
    const { operation, requestId } = forwarded
    const how = { signing, requestId, isSafe: operation.method === 'GET' }
    return responseOf(await askSigned(() => attempt(forwarded), how), forwarded)
  }
}

/** What became of one sending. */
export interface Attempt<T> {
  signed: Signed
  answer: T
}

/**
 * The answer to what `attempt` signs and sends. Once more for what never left, and where it `isSafe` also for what may have;
 * and anew where the agent refused to look at it, and would take it now.
 * @throws ServiceError `agent_unavailable`, `agent_timeout`, `agent_protocol`
 */
export async function askSigned<T extends { headers: HeaderMap }>(
  attempt: () => Promise<Attempt<T>>,
  { signing, requestId, isSafe }: { signing: Signing; requestId: string; isSafe: boolean },
): Promise<T> {
  try {
    let { signed, answer } = await attemptTwice(attempt, { isSafe })
    for (let retries = 0; retries < REFUSAL_RETRIES && signing.mayPassNow(signed, answer, requestId); retries++) {
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
    if (!error.wasSent) await sleep(RETRY_DELAY_MS)
    return attempt()
  }
}

/** With a preference (RFC 7240) of our own before those of the client, of which the agent heeds the first. */
function withAnswerBytesMax(forwarded: ForwardedRequest, maxBytes: number): ForwardedRequest {
  const { request, operation } = forwarded
  if (operation.bytesOut === null) return forwarded
  const given = headerOf(request.headers, 'prefer')
  const prefer = `answer-bytes-max=${maxBytes}${given ? `, ${given}` : ''}`
  return { ...forwarded, request: { ...request, headers: { ...request.headers, prefer } } }
}

/** What an agent that restarts needs at least. */
const RETRY_DELAY_MS = 100
const HEALTH_TIMEOUT_MS = 2_000
