import { AGENT_RUN_HEADER, REFUSAL_HEADER } from '../shared/auth/channel.ts'
import { ERROR_STATUSES, isErrorCode, ServiceError } from '../shared/errors.ts'
import { type HttpResponse, headerOf } from '../shared/http/messages.ts'
import type { Operation } from '../shared/operation.ts'
import type { AgentAnswer, FailureReason, TransportFailure } from './transport.ts'

/**
 * Converts the agent's answer. Keeps it unchanged, except for headers that concern only the channel. @throws ServiceError `agent_protocol`
 * if it is not the agent's answer to this request
 */
export function responseOf(
  answer: AgentAnswer,
  { operation, requestId }: { operation: Operation; requestId: string },
): HttpResponse {
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

/** Returns true for a 503 of `GET /healthz`, which carries a health report instead of a problem. */
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

/** Creates the error for an answer that violates the agent's protocol. */
export function protocolError(cause: string): ServiceError {
  return new ServiceError('agent_protocol', 'The response does not come from an agent of Boxyard.', {
    cause: new Error(`answer of the agent: ${cause}`),
  })
}

/** Creates the error for a request without an answer. */
export function failureError(failure: TransportFailure): ServiceError {
  const [code, detail] = FAILURES[failure.reason]
  return new ServiceError(code, detail, { cause: failure })
}

const FAILURES: Record<
  FailureReason,
  [code: 'agent_unavailable' | 'agent_timeout' | 'agent_protocol', detail: string]
> = {
  unreachable: ['agent_unavailable', 'The agent is unreachable. Boxes keep running.'],
  timeout: ['agent_timeout', 'The agent did not answer in time. The request may still take effect.'],
  aborted: ['agent_timeout', 'The client disconnected before the agent answered.'],
  malformed: ['agent_protocol', 'The response of the agent is not HTTP.'],
}

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
