import type { ServiceError } from '../../shared/errors.ts'
import type { Logger } from '../../shared/log.ts'
import { isMutation } from '../../shared/operation.ts'
import { loggedTarget } from '../../shared/ticket-target.ts'
import type { Clock } from '../ports/clock.ts'
import type { RequestFacts } from './request-facts.ts'

interface AuditDeps {
  logger: Logger
  clock: Clock
}

/** One line for each mutation that was answered, with its outcome. */
export function auditMutation(facts: RequestFacts, status: number, deps: AuditDeps): void {
  deps.logger.info('audit', { ...lineOf(facts, deps.clock), status })
}

/** One line for each mutation and each token that was refused; what never got so far has its own. */
export function auditDenial(facts: RequestFacts, error: ServiceError, deps: AuditDeps): void {
  const isDenied = error.status === 401 || error.status === 403
  const isOfMutation = facts.operation !== null && isMutation(facts.operation)
  if (error.code === 'agent_protocol' || !(isDenied || isOfMutation)) return
  deps.logger.info('audit', { ...lineOf(facts, deps.clock), status: error.status, code: error.code })
}

function lineOf(facts: RequestFacts, clock: Clock): Record<string, unknown> {
  return {
    audit: true,
    operation: facts.operation?.id ?? null,
    method: facts.method,
    target: loggedTarget(facts.target, facts.operation),
    actor: facts.caller?.tokenId ?? null,
    actor_name: facts.caller?.tokenName ?? null,
    client_address: facts.clientAddress,
    request_id: facts.requestId,
    duration_ms: clock.now() - facts.startedAt,
  }
}
