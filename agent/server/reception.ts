import { answerFlow } from '../../shared/answer-flow.ts'
import { type Refusal, refusalError } from '../../shared/auth/channel.ts'
import { cutText, splitTicket } from '../../shared/auth/ticket-target.ts'
import { type TokenVerifier, unverifiedClaims } from '../../shared/auth/tokens.ts'
import { ServiceError } from '../../shared/errors.ts'
import { inLoopTurns, LOOP_TURNS, type OpenFlow } from '../../shared/flow-turns.ts'
import { bearerToken, givenRequestId, splitTarget } from '../../shared/http/messages.ts'
import { sourceKey } from '../../shared/http/source-key.ts'
import type { Logger } from '../../shared/log.ts'
import { type LineBudget, logBounded } from '../../shared/log-budget.ts'
import type { Match, Matcher } from '../../shared/match.ts'
import { isMutation, type Operation } from '../../shared/operation.ts'
import { type FlowOwner, projectOwner } from '../../shared/rotation.ts'
import type { RateLimit } from '../core/access/rate-limit.ts'
import type { Tickets } from '../core/access/tickets.ts'
import { accountsOf, rateAccountOf } from '../core/common/accounts.ts'
import type { Caller } from '../core/common/caller.ts'
import type { Clock } from '../ports/host/clock.ts'
import type { ActorContext, InTurn } from '../ports/store/events.ts'
import { type AuditSink, accountIn, STRANGERS } from './audit.ts'
import { type Identity, identify } from './identify.ts'
import type { RequestMeter } from './metrics.ts'
import type { OpenRequests } from './open-requests.ts'
import type { ProcessorTurns } from './processor-turns.ts'
import type { RequestFacts } from './request-facts.ts'
import type { RequestHead, Trust, Trusted } from './trust.ts'

/** Dependencies of the checks that HTTP requests and WebSockets have in common. */
export interface ReceptionDeps {
  trust: Trust
  /** Matches the operations that this address serves. */
  match: Matcher
  verifyToken: TokenVerifier
  /** @throws ServiceError for a token that was revoked */
  checkAlive(tokenId: string): Promise<void>
  tickets: Tickets
  openRequests: OpenRequests
  actorContext: Pick<ActorContext, 'run'>
  rateLimit: RateLimit
  /** The turns of the event loop, for all servers. */
  turns: ProcessorTurns
  isDraining(): boolean
  audit: AuditSink
  /** Bounds the lines of each caller in the log. Absent: none is left out. */
  lines?: LineBudget
  requests: RequestMeter
  clock: Clock
  logger: Logger
}

/** A request with a trusted head, not authenticated yet. */
export interface Received extends Match {
  trusted: Trusted
  /** The raw query, without the ticket. */
  search: string
  /** Path and query, without the ticket. */
  target: string
  ticket: string | null
}

type Context = ReceptionDeps & { facts: RequestFacts }

/**
 * Verifies the head of a request and matches its operation.
 * @throws ServiceError `agent_protocol` for a bad signature of the channel, `route_not_found`, `method_not_allowed`
 */
export function receive(request: RequestHead, context: Context): Received {
  const { trust, match, facts } = context
  const trusted = trust(request)
  if (!trusted.isAccepted) throw refuse(trusted, facts, context)
  facts.requestId = givenRequestId(trusted.headers) ?? facts.requestId
  facts.clientAddress = trusted.clientAddress
  const { target, ticket } = splitTicket(request.target)
  const { pathname, search } = splitTarget(target)
  const { operation, params } = match(request.method, pathname)
  facts.operation = operation
  facts.project = params.project ?? null
  return { trusted, operation, params, search, target, ticket }
}

/**
 * Authenticates and authorizes a request, and applies rate limit and draining. The returned `enter` runs work as that caller.
 * @throws ServiceError for a missing, invalid, expired or revoked credential, or a missing permission. `rate_limited`, `draining`
 */
export async function admit(received: Received, context: Context): Promise<Identity> {
  const { trusted, operation, params, target, ticket } = received
  const { facts, rateLimit, actorContext, turns } = context
  const { headers } = trusted
  const identity = await identify(
    { operation, params, headers, target, ticket, requestId: facts.requestId },
    {
      ...context,
      // Comes before all refusals of the token, which cost work and lines of the log.
      onCaller: (caller) => {
        facts.caller = caller
        rateLimit(rateAccountOf(caller, facts.project))
        facts.open = context.openRequests.open(caller)
      },
    },
  ).catch((error: unknown) => {
    if (facts.caller === null) rateLimit(strangerOf(facts))
    throw error
  })
  const { caller, enter } = identity
  if (caller === null) rateLimit(strangerOf(facts))
  checkOpen(operation, context)
  // Unauthenticated clients never delay the bytes of others.
  if (caller !== null) LOOP_TURNS.note(bytesOwnerOf(received, caller).project)
  const inTurn: InTurn = (work) => turns.run(accountIn(facts), work)
  return {
    ...identity,
    enter: (work) => enter(() => (caller === null ? work() : actorContext.run({ ...caller, inTurn }, work))),
  }
}

/** Logs a refusal of the channel, which may be an attack, and returns its error. */
export function refuse(
  refusal: Refusal,
  facts: RequestFacts,
  { logger, lines }: Pick<ReceptionDeps, 'logger' | 'lines'>,
): ServiceError {
  const { reason, keyId, skewMs } = refusal
  const { requestId, method } = facts
  // The query is not logged, because it is untrusted and may hold anything, such as a command line.
  const target = cutText(splitTarget(facts.target).pathname)
  logBounded('channel', lines, (leftOut) =>
    logger.warn('channel request refused', {
      ...{ audit: true, reason, key_id: keyId === null ? null : cutText(keyId), skew_ms: skewMs },
      ...{ method, target, request_id: requestId, ...leftOut },
    }),
  )
  return refusalError(refusal)
}

/** Creates the error for mutations while the agent drains. */
export function drainingError(): ServiceError {
  return new ServiceError('draining', 'The agent is shutting down. Boxes keep running.', {
    headers: { 'Retry-After': '2' },
  })
}

function checkOpen(operation: Operation, { isDraining }: ReceptionDeps): void {
  if (isDraining() && isMutation(operation)) throw drainingError()
}

/** Returns the accounts of a request that share bounded resources: its box, and its caller's accounts. */
export function ownersOf(
  { operation, params, trusted }: Pick<Received, 'operation' | 'params' | 'trusted'>,
  caller: Caller | null,
): string[] {
  const box = operation.owner === 'box' ? [`box ${params['project']}/${params['name']}`] : []
  // Before its body is read, a request of the functions is not authenticated here. They have verified its token.
  const claims = caller === null ? unverifiedClaims(bearerToken(trusted.headers)) : null
  const project = params['project'] ?? null
  const accounts = claims === null ? [] : accountsOf({ ...claims, root: claims.root ?? claims.jti }, project)
  return [...box, ...(caller?.accounts ?? accounts)]
}

/**
 * Returns the owner of the bytes that a request moves. It is its box in its project. Without a single project it is its chain of tokens.
 */
export function bytesOwnerOf({ params }: Pick<Received, 'params'>, caller: Caller | null): FlowOwner {
  const { project, name = '' } = params
  if (project !== undefined && project !== '-') return projectOwner(project, name)
  return { project: caller === null ? STRANGERS : `token ${caller.root}`, box: name }
}

/** Returns the flow control for an answer, by turns of this process's event loop. */
export function flowOf(request: Pick<Received, 'params' | 'operation'>, caller: Caller | null): OpenFlow {
  const owner = bytesOwnerOf(request, caller)
  return answerFlow(request.operation.bytesOut, inLoopTurns(owner))
}

function strangerOf({ clientAddress }: RequestFacts): string {
  return `anonymous:${sourceKey(clientAddress)}`
}
