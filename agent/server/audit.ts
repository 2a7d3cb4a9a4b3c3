import { loggedTarget } from '../../shared/auth/ticket-target.ts'
import type { ServiceError } from '../../shared/errors.ts'
import type { Logger } from '../../shared/log.ts'
import { isMutation } from '../../shared/operation.ts'
import type { Clock } from '../ports/host/clock.ts'
import type { AuditRecord } from '../ports/store/events.ts'
import type { RequestFacts } from './request-facts.ts'

/** What keeps the lines beside the log. */
export interface AuditSink {
  add(record: AuditRecord): void
}

export interface AuditDeps {
  logger: Logger
  clock: Clock
  audit: AuditSink
}

/** One line for each mutation that was answered, with its outcome. */
export function auditMutation(facts: RequestFacts, status: number, deps: AuditDeps): void {
  write(facts, { status, code: null }, deps)
}

/** One line for each mutation and each token that was refused; what never got so far has its own. */
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
