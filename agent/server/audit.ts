import { loggedTarget } from '../../shared/auth/ticket-target.ts'
import { mayEnter } from '../../shared/auth/tokens.ts'
import { asServiceError, type ServiceError } from '../../shared/errors.ts'
import { type HttpResponse, problemResponse } from '../../shared/http/messages.ts'
import type { Logger } from '../../shared/log.ts'
import { type LineBudget, logBounded } from '../../shared/log-budget.ts'
import { isMutation } from '../../shared/operation.ts'
import { rateAccountOf } from '../core/common/accounts.ts'
import { OWNER_HEADER } from '../ports/fleet/directory.ts'
import type { Clock } from '../ports/host/clock.ts'
import type { AuditRecord } from '../ports/store/events.ts'
import type { RequestFacts } from './request-facts.ts'

/** Stores audit records, beside the log lines. */
export interface AuditSink {
  add(record: AuditRecord & { account: string }): void
}

export interface AuditDeps {
  logger: Logger
  clock: Clock
  audit: AuditSink
  /** Bounds the lines of each caller in the log; absent: none is left out. */
  lines?: LineBudget
}

/** Writes the line of a mutation that succeeded. */
export function auditMutation(facts: RequestFacts, status: number, deps: AuditDeps): void {
  write(facts, { status, code: null }, deps)
}

/** Writes the line of a refused mutation or token. Refusals of the channel log their own. */
export function auditDenial(facts: RequestFacts, error: ServiceError, deps: AuditDeps): void {
  const isDenied = error.status === 401 || error.status === 403
  const isOfMutation = facts.operation !== null && isMutation(facts.operation)
  if (UNRECORDED.has(error.code) || !(isDenied || isOfMutation)) return
  // Who asked is told by the cell that the repeat goes on to.
  if (error.headers[OWNER_HEADER] !== undefined) return
  write(facts, error, deps)
}

function write(
  facts: RequestFacts,
  { status, code }: { status: number; code: string | null },
  { logger, clock, audit, lines }: AuditDeps,
): void {
  const at = clock.now()
  const { method, clientAddress, requestId } = facts
  // A token of others must not write into the history of a project.
  const project = facts.project !== null && facts.caller && mayEnter(facts.caller, facts.project) ? facts.project : null
  const record: AuditRecord = {
    ...{ at, method, project, clientAddress, requestId, status, code },
    operation: facts.operation?.id ?? null,
    target: loggedTarget(facts.target, facts.operation),
    actor: facts.caller?.tokenId ?? null,
    actorName: facts.caller?.tokenName ?? null,
    durationMs: at - facts.startedAt,
  }
  const account = accountIn(facts)
  logBounded(account, lines, (leftOut) => logger.info('audit', { ...lineOf(record), ...leftOut }))
  audit.add({ ...record, account })
}

/** Returns the account by which what a request leaves behind is bounded. */
export function accountIn({ caller, project }: Pick<RequestFacts, 'caller' | 'project'>): string {
  return caller === null ? STRANGERS : rateAccountOf(caller, project)
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
  if (isFault(known)) {
    logBounded(`faults of ${accountIn(facts)}`, deps.lines, (leftOut) =>
      deps.logger.error('request failed', { request_id: facts.requestId, error, ...leftOut }),
    )
  }
  auditDenial(facts, known, deps)
  return problemResponse(known, facts.requestId)
}

// Expected refusals with status 5xx, such as draining, are not logged as errors.
function isFault(error: ServiceError): boolean {
  return error.status >= 500 && !EXPECTED.has(error.code)
}

// Refusals of the channel log their own line, and what came too often was not looked at.
const UNRECORDED: ReadonlySet<string> = new Set(['agent_protocol', 'rate_limited'])
/** The account of all requests without a token. */
export const STRANGERS = 'strangers'
const EXPECTED: ReadonlySet<string> = new Set(['agent_protocol', 'draining', 'storage_full'])
