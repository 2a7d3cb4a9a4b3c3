import { loggedTarget } from '../../shared/auth/ticket-target.ts'
import { asServiceError, type ServiceError } from '../../shared/errors.ts'
import { type HttpResponse, problemResponse } from '../../shared/http/messages.ts'
import type { Logger } from '../../shared/log.ts'
import { isMutation } from '../../shared/operation.ts'
import type { Clock } from '../ports/host/clock.ts'
import type { AuditRecord } from '../ports/store/events.ts'
import type { RequestFacts } from './request-facts.ts'

/** Stores audit records, beside the log lines. */
export interface AuditSink {
  add(record: AuditRecord): void
}

export interface AuditDeps {
  logger: Logger
  clock: Clock
  audit: AuditSink
}

/** Writes the line of a mutation that succeeded. */
export function auditMutation(facts: RequestFacts, status: number, deps: AuditDeps): void {
  write(facts, { status, code: null }, deps)
}

/** Writes the line of a refused mutation or token. Refusals of the channel log their own. */
export function auditDenial(facts: RequestFacts, error: ServiceError, deps: AuditDeps): void {
  const isDenied = error.status === 401 || error.status === 403
  const isOfMutation = facts.operation !== null && isMutation(facts.operation)
  if (error.code === 'agent_protocol' || !(isDenied || isOfMutation)) return
  write(facts, error, deps)
}

function write(
  facts: RequestFacts,
  { status, code }: { status: number; code: string | null },
  { logger, clock, audit }: AuditDeps,
): void {
  const at = clock.now()
  const { method, project, clientAddress, requestId } = facts
  const record: AuditRecord = {
    ...{ at, method, project, clientAddress, requestId, status, code },
    operation: facts.operation?.id ?? null,
    target: loggedTarget(facts.target, facts.operation),
    actor: facts.caller?.tokenId ?? null,
    actorName: facts.caller?.tokenName ?? null,
    durationMs: at - facts.startedAt,
  }
  logger.info('audit', lineOf(record))
  audit.add(record)
}

function lineOf(record: AuditRecord): Record<string, unknown> {
  const { operation, method, target, actor, status, code } = record
  return {
    ...{ audit: true, operation, method, target, actor, actor_name: record.actorName },
    ...{ client_address: record.clientAddress, request_id: record.requestId, duration_ms: record.durationMs },
    ...{ status, ...(code === null ? {} : { code }) },
  }
}

/** Logs the cause of an internal error, writes the audit line, and returns the problem response. */
export function refusalOf(error: unknown, facts: RequestFacts, deps: AuditDeps): HttpResponse {
  const known = asServiceError(error)
  if (isFault(known)) deps.logger.error('request failed', { request_id: facts.requestId, error })
  auditDenial(facts, known, deps)
  return problemResponse(known, facts.requestId)
}

// Expected refusals with status 5xx, such as draining, are not logged as errors.
function isFault(error: ServiceError): boolean {
  return error.status >= 500 && !EXPECTED.has(error.code)
}

const EXPECTED: ReadonlySet<string> = new Set(['agent_protocol', 'draining', 'storage_full'])
