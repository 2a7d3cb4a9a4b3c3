import { asServiceError, type ServiceError } from '../../shared/errors.ts'
import { type HttpResponse, problemResponse } from '../../shared/http/messages.ts'
import { type AuditDeps, auditDenial } from './audit.ts'
import type { RequestFacts } from './request-facts.ts'

/** The answer to a request that failed, whose lines are written: the cause of a fault of ours, and the audit's. */
export function refusalOf(error: unknown, facts: RequestFacts, deps: AuditDeps): HttpResponse {
  const known = asServiceError(error)
  if (isFault(known)) deps.logger.error('request failed', { request_id: facts.requestId, error })
  auditDenial(facts, known, deps)
  return problemResponse(known, facts.requestId)
}

// Refusals that are meant, such as a full pool or draining, are told to the client and need no stack.
function isFault(error: ServiceError): boolean {
  return error.status >= 500 && !EXPECTED.has(error.code)
}

const EXPECTED: ReadonlySet<string> = new Set(['agent_protocol', 'draining', 'storage_full'])
