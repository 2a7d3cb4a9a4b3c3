import { loggedTarget } from '../shared/auth/ticket-target.ts'
import type { TokenClaims } from '../shared/auth/tokens.ts'
import type { ServiceError } from '../shared/errors.ts'
import type { HttpRequest } from '../shared/http/messages.ts'
import type { Logger } from '../shared/log.ts'
import { isMutation, type Operation } from '../shared/operation.ts'

/** What is known of a request that the front refused. */
export interface RefusedRequest {
  request: Pick<HttpRequest, 'method' | 'target' | 'clientAddress'>
  requestId: string
  operation: Operation | null
  claims: TokenClaims | null
  durationMs: number
}

/** One line, as the agent's own, for each token and each mutation that was refused before the agent heard of it. */
export function auditRefusal(refused: RefusedRequest, error: ServiceError, audit: Logger): void {
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
