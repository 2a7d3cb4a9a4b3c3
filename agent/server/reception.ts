import { createHash } from 'node:crypto'
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
import type { RequestMeter } from './metrics.ts'
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
  actorContext: Pick<ActorContext, 'run'>
  rateLimit: RateLimit
  isDraining(): boolean
  audit: AuditSink
  requests: RequestMeter
  clock: Clock
  logger: Logger
}

/** A request with a trusted head, not authenticated yet. */
export interface Received extends Match {
  trusted: Trusted
  query: URLSearchParams
  /** Path and query, without the ticket. */
  target: string
  ticket: string | null
}

type Context = ReceptionDeps & { facts: RequestFacts }

/**
 * Verifies the head of a request and matches its operation.
 * @throws ServiceError `agent_protocol` for a bad signature of the channel, `route_not_found`, `method_not_allowed`
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
 * Authenticates and authorizes a request, and applies rate limit and draining. The returned `enter` runs work as that caller.
 * @throws ServiceError for a missing, invalid, expired or revoked credential, or a missing permission; `rate_limited`, `draining`
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

/** Logs a refusal of the channel, which may be an attack, and returns its error. */
export function refuse(refusal: Refusal, facts: RequestFacts, logger: Logger): ServiceError {
  const { reason, keyId, skewMs } = refusal
  const { requestId, method } = facts
  // The query is not logged: untrusted, it may hold anything, such as a command line.
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

/** Creates the error for mutations while the agent drains. */
export function drainingError(): ServiceError {
  return new ServiceError('draining', 'The agent is being stopped; boxes go on running.', {
    headers: { 'Retry-After': '2' },
  })
}

function checkOpen(operation: Operation, { isDraining }: ReceptionDeps): void {
  if (isDraining() && isMutation(operation)) throw drainingError()
}

/** Returns the key by which a request shares bounded resources: its box, or else its token. */
export function ownerOf({ operation, params, trusted }: Pick<Received, 'operation' | 'params' | 'trusted'>): string {
  if (operation.path.startsWith(BOX_PATH)) return `box ${params['project']}/${params['name']}`
  return `token ${createHash('sha256')
    .update(trusted.headers['authorization'] ?? '')
    .digest('base64url')}`
}

const BOX_PATH = '/v1/projects/{project}/boxes/{name}'
