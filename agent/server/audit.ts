import { loggedTarget } from '../../shared/auth/ticket-target.ts'
import { mayEnter } from '../../shared/auth/tokens.ts'
import { asServiceError, type ServiceError } from '../../shared/errors.ts'
import { type HttpResponse, problemResponse } from '../../shared/http/messages.ts'
import type { Logger } from '../../shared/log.ts'
import { type LineBudget, logBounded } from '../../shared/log-budget.ts'
import { isMutation, type Operation } from '../../shared/operation.ts'
import { rateAccountOf } from '../core/common/accounts.ts'
import { shellCommand } from '../core/exec/start.ts'
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
  /** Bounds the lines of each caller in the log. Absent: none is left out. */
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
  // The cell that receives the repeat records the caller.
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
  audit.add({ ...record, ...boundCommand(facts.command), account })
}

/**
 * Writes one line for a WebSocket whose command comes in its first message. Writes it when the command starts or is refused, or when the
 * message never came.
 */
export class LateLine {
  readonly #facts: RequestFacts
  readonly #deps: AuditDeps
  #isWritten = false

  constructor(facts: RequestFacts, deps: AuditDeps) {
    this.#facts = facts
    this.#deps = deps
  }

  /** Writes the line of a WebSocket that was opened, unless there is one. */
  opened(): void {
    if (!this.#isWritten) auditMutation(this.#facts, 101, this.#deps)
    this.#isWritten = true
  }

  /** Writes the line of a refusal after the handshake, and returns its problem as JSON. */
  refused(error: unknown): string {
    this.#isWritten = true
    const { body } = refusalOf(error, this.#facts, this.#deps)
    return typeof body === 'string' ? body : ''
  }
}

/** Returns the command in a validated request. Null if it has none. Pure. */
export function commandIn(
  { id }: Pick<Operation, 'id'>,
  { body, query }: { body?: unknown; query?: unknown },
): readonly string[] | null {
  if (id !== 'createExec' && id !== 'streamExec') return null
  const { command = [], shell } = (body ?? query ?? {}) as { command?: readonly string[]; shell?: string }
  if (shell !== undefined) return shellCommand(shell)
  return command.length === 0 ? null : command
}

/** Cuts a command at 1,024 bytes for the audit log. Variables are no part of it, but arguments may hold secrets. Pure. */
function boundCommand(command: readonly string[] | null): Pick<AuditRecord, 'command' | 'isCommandCut'> {
  if (command === null) return { command }
  let left = COMMAND_BYTES
  const kept: string[] = []
  for (const argument of command) {
    const bytes = Buffer.from(argument)
    if (bytes.length + 1 > left) {
      const start = bytes
        .subarray(0, left)
        .toString()
        .replace(/\uFFFD+$/, '')
      return { command: start === '' && kept.length > 0 ? kept : [...kept, start], isCommandCut: true }
    }
    kept.push(argument)
    // The space after it counts too, so that empty arguments have a bound.
    left -= bytes.length + 1
  }
  return { command: kept }
}

/** Returns the account whose limits cover the records that a request leaves behind. */
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

/** Logs the cause of an error that is a fault or not ours, writes the audit line, and returns the problem response. */
export function refusalOf(error: unknown, facts: RequestFacts, deps: AuditDeps): HttpResponse {
  const known = asServiceError(error)
  if (isFault(known) || known !== error) {
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

/** The bytes of a command in a record. */
const COMMAND_BYTES = 1024
// Refusals of the channel log their own line. Requests beyond the rate limit were not examined.
const UNRECORDED: ReadonlySet<string> = new Set(['agent_protocol', 'rate_limited'])
/** The account of all requests without a token. */
export const STRANGERS = 'strangers'
const EXPECTED: ReadonlySet<string> = new Set(['agent_protocol', 'draining', 'storage_full'])
