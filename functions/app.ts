import { asServiceError, type ServiceError } from '../shared/errors.ts'
import { newId } from '../shared/ids.ts'
import type { Logger } from '../shared/log.ts'
import { matchOperation } from '../shared/match.ts'
import {
  givenRequestId,
  type HttpHandler,
  type HttpRequest,
  type HttpResponse,
  headerOf,
  jsonResponse,
  problemResponse,
  readJson,
  splitTarget,
} from '../shared/messages.ts'
import type { Operation } from '../shared/operation.ts'
import { authorize, type TokenClaims } from '../shared/tokens.ts'
import { validateRequest } from '../shared/validate.ts'
import { auditRefusal } from './audit.ts'
import type { Authenticator } from './auth.ts'
import type { Forward } from './forward.ts'

export interface AppOptions {
  authenticate: Authenticator
  forward: Forward
  logger: Logger
  /** Takes the audit lines, whatever the level of `logger` is. */
  audit: Logger
  /** Milliseconds since the epoch. */
  now(): number
}

/** The app of every host: match, authenticate, authorize, validate, forward; each fault is answered in one shape. */
export function createApp(options: AppOptions): HttpHandler {
  return async (request) => {
    const startedAt = options.now()
    const requestId = givenRequestId(request.headers) ?? newId('req', startedAt)
    const progress: Progress = { startedAt, operation: null, claims: null }
    try {
      const response = await handle(request, { ...options, requestId, progress })
      return { ...response, headers: { 'cache-control': 'no-store', ...response.headers } }
    } catch (error) {
      return refuse(error, request, { ...options, requestId, progress })
    }
  }
}

/** How far a request has come, for its log lines. */
interface Progress {
  startedAt: number
  operation: Operation | null
  claims: TokenClaims | null
}

interface Context extends AppOptions {
  requestId: string
  progress: Progress
}

async function handle(request: HttpRequest, context: Context): Promise<HttpResponse> {
  const { authenticate, forward, requestId, progress } = context
  const { pathname, query } = splitTarget(request.target)
  const { operation, params } = matchOperation(request.method, pathname)
  progress.operation = operation
  if (operation.permission !== null) {
    progress.claims = await authenticate(request.headers)
    authorize(operation, params, progress.claims)
  }
  const body = await request.readBody(operation.maxBodyBytes)
  const value = readJson(body, headerOf(request.headers, 'content-type'))
  validateRequest(operation, { params, query, body: value })
  return forward({ request, operation, requestId, body })
}

async function refuse(error: unknown, request: HttpRequest, context: Context): Promise<HttpResponse> {
  const { logger, requestId, progress } = context
  const known = asServiceError(error)
  const durationMs = context.now() - progress.startedAt
  auditRefusal({ ...progress, request, requestId, durationMs }, known, context.audit)
  const facts = {
    request_id: requestId,
    operation: progress.operation?.id ?? null,
    token_id: progress.claims?.jti ?? null,
    code: known.code,
    cause: known.cause,
  }
  if (request.signal.aborted) logger.debug('A client left', facts)
  else if (known.status >= 500) logger.error('A request failed', facts)
  else logger.info('A request was refused', facts)
  const isOutage = known.code === 'agent_unavailable' || known.code === 'agent_timeout'
  if (progress.operation?.id === 'getHealth' && isOutage) return unavailableReport(known, request, context)
  return problemResponse(known, requestId)
}

/** The functions' own health report while the agent cannot be asked; its errors are for bearers of a token (api.md §2). */
async function unavailableReport(error: ServiceError, request: HttpRequest, context: Context): Promise<HttpResponse> {
  const hasToken = await context.authenticate(request.headers).then(
    () => true,
    () => false,
  )
  const fault = { code: error.code, evidence: error.message, remedy: 'Start the agent, or mend the network to it.' }
  const report = { status: 'unavailable', api: { api_version: 'v1' }, errors: hasToken ? [fault] : [] }
  return jsonResponse(503, report, { 'x-request-id': context.requestId, 'cache-control': 'no-store' })
}
