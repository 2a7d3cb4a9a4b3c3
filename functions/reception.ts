import { loggedTarget, splitTicket } from '../shared/auth/ticket-target.ts'
import { authorize, type TokenClaims } from '../shared/auth/tokens.ts'
import { asServiceError, type ServiceError } from '../shared/errors.ts'
import { type HttpRequest, splitTarget } from '../shared/http/messages.ts'
import type { Logger } from '../shared/log.ts'
import { type LineBudget, leftOutField } from '../shared/log-budget.ts'
import { type Match, matchOperation } from '../shared/match.ts'
import { isMutation, type Operation, opensByTicket } from '../shared/operation.ts'
import type { Authenticator } from './auth.ts'

export interface ReceptionOptions {
  authenticate: Authenticator
  logger: Logger
  /** Writes the audit lines, at any level of `logger`. */
  audit: Logger
  /** Bounds the lines of each caller in the log. Absent for no limit. */
  lines?: LineBudget
  /** Milliseconds since the epoch. */
  now(): number
}

/** The head of a request, and a signal that aborts when its client leaves. */
export type ReceivedHead = Pick<HttpRequest, 'method' | 'target' | 'headers' | 'clientAddress' | 'signal'>

/** The progress of a request, for its log lines. */
export interface Progress {
  startedAt: number
  operation: Operation | null
  claims: TokenClaims | null
}

/** The options and progress of a request under way. */
export type Reception = ReceptionOptions & { requestId: string; progress: Progress }

/**
 * Finds the operation of a request and authorizes its sender: by token, or with a ticket, which the agent checks.
 * @throws ServiceError for an unknown route, and a missing, invalid, expired or insufficient token
 */
export async function receiveRequest(
  { method, target, headers }: ReceivedHead,
  { authenticate, progress }: Reception,
): Promise<Match & { search: string }> {
  const { target: plain, ticket } = splitTicket(target)
  const { pathname, search } = splitTarget(plain)
  const { operation, params } = matchOperation(method, pathname)
  progress.operation = operation
  const hasTicket = ticket !== null && headers.authorization === undefined && opensByTicket(operation)
  if (operation.permission !== null && !hasTicket) {
    progress.claims = await authenticate(headers)
    authorize(operation, params, progress.claims)
  }
  return { operation, params, search }
}

/** Logs and audits a refused or failed request. Returns the error to answer with. */
export function auditRefusedRequest(error: unknown, request: ReceivedHead, reception: Reception): ServiceError {
  const { logger, requestId, progress } = reception
  const known = asServiceError(error)
  const durationMs = reception.now() - progress.startedAt
  const { claims } = progress
  const leftOut = reception.lines ? reception.lines.take(claims ? `token ${claims.root ?? claims.jti}` : STRANGERS) : 0
  if (leftOut === null) return known
  auditRefusal({ ...progress, request, requestId, durationMs }, known, reception.audit)
  const facts = {
    ...leftOutField(leftOut),
    request_id: requestId,
    operation: progress.operation?.id ?? null,
    token_id: progress.claims?.jti ?? null,
    code: known.code,
    cause: known.cause,
  }
  if (request.signal.aborted) logger.debug('A client disconnected', facts)
  else if (known.status >= 500) logger.error('A request failed', facts)
  else logger.info('Rejected a request', facts)
  return known
}

interface RefusedRequest {
  request: Pick<HttpRequest, 'method' | 'target' | 'clientAddress'>
  requestId: string
  operation: Operation | null
  claims: TokenClaims | null
  durationMs: number
}

/** Writes an audit line, like the agent's, for each token and each mutation that the front itself refuses. */
function auditRefusal(refused: RefusedRequest, error: ServiceError, audit: Logger): void {
  const { request, requestId, operation, claims, durationMs } = refused
  const isDenied = error.status === 401 || error.status === 403
  const isOfMutation = operation !== null && isMutation(operation)
  if (error.status >= 500 || !(isDenied || isOfMutation)) return
  audit.info('audit', {
    audit: true,
    operation: operation?.id ?? null,
    method: request.method,
    target: loggedTarget(request.target, operation),
    actor: claims?.jti ?? null,
    actor_name: claims?.sub ?? null,
    client_address: request.clientAddress,
    request_id: requestId,
    duration_ms: durationMs,
    status: error.status,
    code: error.code,
  })
}

const STRANGERS = 'strangers'
