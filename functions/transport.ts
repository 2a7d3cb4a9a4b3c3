import { FRONT_BOUNDS } from '../shared/http/bounds.ts'
import type { HeaderMap } from '../shared/http/messages.ts'

/** A signed request to the agent. */
export interface AgentRequest {
  method: string
  target: string
  headers: Record<string, string>
  body: Uint8Array
  /** Aborts the request when its client has left. Null if leaving cancels nothing. */
  signal: AbortSignal | null
  timeoutMs: number
  /** True for an answer of any length, which can hold its connection for as long as the client likes. */
  isBulk: boolean
  /** Owner that it is sent for. Owners share the connections fairly. */
  owner: string
}

/** The agent's answer. A small body comes whole, which saves creating a stream. */
export interface AgentAnswer {
  status: number
  headers: HeaderMap
  body: Uint8Array | AsyncIterable<Uint8Array>
}

/** Sends requests to the agent over kept-alive connections. */
export interface AgentTransport {
  /** @throws only TransportFailure */
  send(request: AgentRequest): Promise<AgentAnswer>
  /** Closes idle connections at once, and the others after their answers. */
  close(): Promise<void>
}

/** The reason for a missing answer. */
export type FailureReason = 'unreachable' | 'timeout' | 'aborted' | 'malformed'

/** A failed exchange. `wasSent` is false only if it is certain that the agent has received nothing of it. */
export class TransportFailure extends Error {
  override readonly name = 'TransportFailure'
  readonly reason: FailureReason
  readonly wasSent: boolean

  constructor(reason: FailureReason, options: { wasSent: boolean; cause: unknown }) {
    super(`no answer from the agent: ${reason}`, { cause: options.cause })
    this.reason = reason
    this.wasSent = options.wasSent
  }
}

/** Converts an error of a client library to a failure. */
export function failureOf(error: unknown, request: Pick<AgentRequest, 'signal'>): TransportFailure {
  if (error instanceof TransportFailure) return error
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : ''
  if (request.signal?.aborted) return new TransportFailure('aborted', { wasSent: true, cause: error })
  if (NOT_SENT.has(code)) return new TransportFailure('unreachable', { wasSent: false, cause: error })
  if (TIMEOUTS.has(code)) return new TransportFailure('timeout', { wasSent: true, cause: error })
  if (MALFORMED.test(code)) return new TransportFailure('malformed', { wasSent: true, cause: error })
  return new TransportFailure('unreachable', { wasSent: true, cause: error })
}

/** Answers up to this many bytes are read whole. */
export const WHOLE_BODY_MAX_BYTES = 1024 * 1024

/** Time-out for opening a connection to the agent. */
export const CONNECT_TIMEOUT_MS = 3_000

/** Below the agent's own, so that the agent is never the first to close an idle connection. */
export const KEEP_ALIVE_MS = 30_000

/** Maximum number of connections to the agent. Long waits each hold one. */
export const CONNECTIONS_MAX = FRONT_BOUNDS.requestsAtOnce

const NOT_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
  'UND_ERR_CONNECT_TIMEOUT',
])
const TIMEOUTS = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'ETIMEDOUT'])
const MALFORMED = /^HPE_/
