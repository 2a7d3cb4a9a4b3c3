import { type Refusal, refusalError } from '../../shared/auth/channel.ts'
import { splitTicket } from '../../shared/auth/ticket-target.ts'
import type { TokenVerifier } from '../../shared/auth/tokens.ts'
import { ServiceError } from '../../shared/errors.ts'
import { givenRequestId, splitTarget } from '../../shared/http/messages.ts'
import type { Logger } from '../../shared/log.ts'
import type { Match, Matcher } from '../../shared/match.ts'
import { isMutation, type Operation } from '../../shared/operation.ts'
import type { RateLimit } from '../core/access/rate-limit.ts'
import type { Tickets } from '../core/access/tickets.ts'
import type { Clock } from '../ports/host/clock.ts'
import type { ActorContext } from '../ports/store/events.ts'
import type { AuditSink } from './audit.ts'
import { type Identity, identify } from './identify.ts'
import type { RequestFacts } from './request-facts.ts'
import type { RequestMeter } from './request-meter.ts'
import type { RequestHead, Trust, Trusted } from './trust.ts'

/** What decides whether a request is let in, whether it is answered or becomes a WebSocket. */
export interface ReceptionDeps {
  trust: Trust
  /** Knows the operations that are served here. */
  match: Matcher
  verifyToken: TokenVerifier
  /** @throws ServiceError for a token that was revoked */
  checkAlive(tokenId: string): Promise<void>
  tickets: Tickets
  actorContext: Pick<ActorContext, 'run'>
  rateLimit: RateLimit
  isDraining(): boolean
  audit: AuditSink
  requests: RequestMeter
  clock: Clock
  logger: Logger
}

/** A request whose head is believed; who sent it is not known yet. */
export interface Received extends Match {
  trusted: Trusted
  query: URLSearchParams
  /** Path and query without the ticket, and that. */
  target: string
  ticket: string | null
}

type Context = ReceptionDeps & { facts: RequestFacts }

/**
 * Judges the head of a request, and finds its operation.
 * @throws ServiceError `agent_protocol` for one that is not signed as it must be, `route_not_found`, `method_not_allowed`
 */
export function receive(request: RequestHead, { trust, match, facts, logger }: Context): Received {
  const trusted = trust(request)
  if (!trusted.isAccepted) throw refuse(trusted, facts, logger)
  facts.requestId = givenRequestId(trusted.headers) ?? facts.requestId
  facts.clientAddress = trusted.clientAddress
  const { target, ticket } = splitTicket(request.target)
  const { pathname, query } = splitTarget(target)
  const { operation, params } = match(request.method, pathname)
  facts.operation = operation
  facts.project = params.project ?? null
  return { trusted, operation, params, query, target, ticket }
}

/**
 * Lets a request in: its sender may do this, asks little enough, and the agent is not being stopped. What enters is done on
 * behalf of the sender.
 * @throws ServiceError for what is missing, invalid, expired, revoked or not permitted; `rate_limited`, `draining`
 */
export async function admit(received: Received, context: Context): Promise<Identity> {
  const { trusted, operation, params, target, ticket } = received
  const { facts, rateLimit, actorContext } = context
  const { headers } = trusted
  const identity = await identify(
    { operation, params, headers, target, ticket, requestId: facts.requestId },
    {
      ...context,
      onCaller: (caller) => {
        facts.caller = caller
      },
    },
  )
  const { caller, boxId, enter } = identity
  rateLimit(caller?.tokenId ?? `anonymous:${facts.clientAddress}`)
  checkOpen(operation, context)
  return { caller, boxId, enter: (work) => enter(() => (caller === null ? work() : actorContext.run(caller, work))) }
}

/** The error of a refusal, which is written down: someone without a key may have tried. */
export function refuse(refusal: Refusal, facts: RequestFacts, logger: Logger): ServiceError {
  const { reason, keyId, skewMs } = refusal
  const { requestId, method } = facts
  // What is not believed may hold anything, a command line among it.
  const target = splitTarget(facts.target).pathname
  logger.warn('channel request refused', {
    audit: true,
    reason,
    key_id: keyId,
    skew_ms: skewMs,
    method,
    target,
    request_id: requestId,
  })
  return refusalError(refusal)
}

/** The error of what would begin something. */
export function drainingError(): ServiceError {
  return new ServiceError('draining', 'The agent is being stopped; boxes go on running.', {
    headers: { 'Retry-After': '2' },
  })
}

function checkOpen(operation: Operation, { isDraining }: ReceptionDeps): void {
  if (isDraining() && isMutation(operation)) throw drainingError()
}
