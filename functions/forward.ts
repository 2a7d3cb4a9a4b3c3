import { setTimeout as sleep } from 'node:timers/promises'
import {
  AGENT_RUN_HEADER,
  type ChannelRequest,
  CLIENT_ADDRESS_HEADER,
  createSigner,
  REFUSAL_HEADER,
  SIGNATURE_HEADER,
  signedHeaders,
} from '../shared/channel.ts'
import { ERROR_STATUSES, isErrorCode, ServiceError } from '../shared/errors.ts'
import type { ChannelKeySet } from '../shared/keys.ts'
import type { Logger } from '../shared/log.ts'
import { type HttpRequest, type HttpResponse, headerOf } from '../shared/messages.ts'
import type { Operation } from '../shared/operation.ts'
import type { Keyring } from './keyring.ts'
import { type AgentAnswer, type AgentTransport, type FailureReason, TransportFailure } from './transport.ts'

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

export interface ForwardOptions {
  transport: AgentTransport
  keyring: Keyring
  timeoutMs: number
  logger: Logger
  /** Milliseconds since the epoch. */
  now(): number
}

/**
 * Signs requests and carries them to the agent. Tries once more only where that is safe: a GET, a request that never
 * left, or one that the agent refused to look at because our keys were old or it has started again.
 */
export function createForward(options: ForwardOptions): Forward {
  const { transport, keyring, timeoutMs, logger, now } = options
  const sign = createSigner({
    keys: () => keyring.channel().keys,
    agentId: () => keyring.channel().agent_id,
    now,
  })
  let agentRun: string | undefined
  const attempt = async (forwarded: ForwardedRequest): Promise<Attempt> => {
    const keys = keyring.channel()
    const { body } = forwarded
    const message = channelRequestOf(forwarded, agentRun)
    const headers = { ...message.headers, [SIGNATURE_HEADER]: sign(message, body) }
    const signal = message.method === 'GET' ? forwarded.request.signal : null
    // Whoever probes health gives up long before a request has to.
    const patienceMs = forwarded.operation.id === 'getHealth' ? Math.min(timeoutMs, HEALTH_TIMEOUT_MS) : timeoutMs
    return { keys, answer: await transport.send({ ...message, headers, body, signal, timeoutMs: patienceMs }) }
  }
  /** Another request may have read the keys meanwhile, so what counts is whether they are others than those used. */
  const mayPassNow = ({ keys, answer }: Attempt, forwarded: ForwardedRequest): boolean => {
    const reason = headerOf(answer.headers, REFUSAL_HEADER)
    if (reason === undefined) return false
    const facts = { request_id: forwarded.requestId, reason }
    const run = headerOf(answer.headers, AGENT_RUN_HEADER)
    if (run !== undefined) {
      logger.info('The agent has started again', facts)
      agentRun = run
      return true
    }
    logger.warn('The agent refused a signature', facts)
    if (keyring.channel() === keys) keyring.refresh('channel')
    return keyring.channel() !== keys
  }
  return async (forwarded) => {
    let last: Attempt
    try {
      last = await attemptTwice(() => attempt(forwarded), { isSafe: forwarded.operation.method === 'GET' })
      for (let retries = 0; retries < REFUSAL_RETRIES && mayPassNow(last, forwarded); retries++) {
        last = await attempt(forwarded)
      }
    } catch (error) {
      throw error instanceof TransportFailure ? failureError(error) : error
    }
    return responseOf(last.answer, forwarded)
  }
}

/** What became of one sending, and the keys it was signed with. */
interface Attempt {
  keys: ChannelKeySet
  answer: AgentAnswer
}

async function attemptTwice(attempt: () => Promise<Attempt>, { isSafe }: { isSafe: boolean }): Promise<Attempt> {
  try {
    return await attempt()
  } catch (error) {
    const isWorthIt = error instanceof TransportFailure && error.reason === 'unreachable' && (isSafe || !error.wasSent)
    if (!isWorthIt) throw error
    if (!error.wasSent) await sleep(RETRY_DELAY_MS)
    return attempt()
  }
}

function channelRequestOf(
  forwarded: ForwardedRequest,
  agentRun: string | undefined,
): ChannelRequest & { headers: Record<string, string> } {
  const { request, operation, requestId, body } = forwarded
  const headers = signedHeaders(request.headers)
  for (const [name, value] of Object.entries(headers)) {
    if (!FIELD_VALUE.test(value)) {
      const errors = [{ pointer: `/headers/${name}`, detail: 'must be of printable characters' }]
      throw new ServiceError('invalid_request', `The header ${name} holds characters it must not.`, { errors })
    }
    headers[name] = value.trim()
  }
  headers['x-request-id'] = requestId
  headers[CLIENT_ADDRESS_HEADER] = request.clientAddress
  if (agentRun === undefined) delete headers[AGENT_RUN_HEADER]
  else headers[AGENT_RUN_HEADER] = agentRun
  if (body.length === 0) delete headers['content-type']
  return { method: operation.method, target: request.target, headers }
}

function responseOf(answer: AgentAnswer, { operation, requestId }: ForwardedRequest): HttpResponse {
  const { status, body } = answer
  if (headerOf(answer.headers, 'x-request-id') !== requestId) throw protocolError('it does not answer this request')
  if (status >= 400 && !isHealthReport(operation, status)) checkProblem(answer)
  const headers: Record<string, string | readonly string[]> = {}
  for (const name in answer.headers) {
    const value = answer.headers[name]
    if (value !== undefined && !KEPT_BACK.has(name)) headers[name] = value
  }
  if (!(body instanceof Uint8Array)) {
    const length = headerOf(answer.headers, 'content-length')
    if (length !== undefined) headers['content-length'] = length
  }
  return { status, headers, body }
}

/** `GET /healthz` answers 503 with its own report. */
function isHealthReport(operation: Operation, status: number): boolean {
  return operation.id === 'getHealth' && status === 503
}

function checkProblem(answer: AgentAnswer): void {
  if (!(answer.body instanceof Uint8Array)) throw protocolError('its error is too long')
  let problem: unknown
  try {
    problem = JSON.parse(Buffer.from(answer.body).toString('utf8'))
  } catch {
    throw protocolError('its error is not JSON')
  }
  const code = typeof problem === 'object' && problem !== null && 'code' in problem ? problem.code : undefined
  if (!isErrorCode(code) || ERROR_STATUSES.get(code) !== answer.status)
    throw protocolError('its error is not one of ours')
}

function protocolError(cause: string): ServiceError {
  return new ServiceError('agent_protocol', 'The agent gave an answer that is not one of its own.', {
    cause: new Error(`answer of the agent: ${cause}`),
  })
}

function failureError(failure: TransportFailure): ServiceError {
  const [code, detail] = FAILURES[failure.reason]
  return new ServiceError(code, detail, { cause: failure })
}

const FAILURES: Record<
  FailureReason,
  [code: 'agent_unavailable' | 'agent_timeout' | 'agent_protocol', detail: string]
> = {
  unreachable: ['agent_unavailable', 'The agent cannot be reached; boxes go on running meanwhile.'],
  timeout: ['agent_timeout', 'The agent did not answer in time; what was asked may still happen.'],
  aborted: ['agent_timeout', 'The client left before the agent had answered.'],
  malformed: ['agent_protocol', 'The agent gave an answer that is not HTTP.'],
}

/** What an agent that restarts needs at least. */
const RETRY_DELAY_MS = 100
const HEALTH_TIMEOUT_MS = 2_000
/** An agent may refuse twice and take the third: once for an old key, once for its own restart. */
const REFUSAL_RETRIES = 2
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
const KEPT_BACK: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'proxy-authenticate',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  REFUSAL_HEADER,
  AGENT_RUN_HEADER,
])
