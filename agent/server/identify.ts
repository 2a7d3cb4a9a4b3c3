import { authorize, type TokenVerifier } from '../../shared/auth/tokens.ts'
import { ServiceError } from '../../shared/errors.ts'
import { bearerToken, type HeaderMap } from '../../shared/http/messages.ts'
import { type Operation, takesTicket } from '../../shared/operation.ts'
import type { Tickets } from '../core/access/tickets.ts'
import type { Caller } from '../core/common/caller.ts'

/** What a request says of who sent it. */
export interface Credentials {
  operation: Operation
  params: Record<string, string>
  headers: HeaderMap
  /** Path and query without the ticket, and that. */
  target: string
  ticket: string | null
  requestId: string
}

export interface IdentifyDeps {
  verifyToken: TokenVerifier
  /** @throws ServiceError for a token that was revoked */
  checkAlive(tokenId: string): Promise<void>
  /** Also for the audit line of what is refused next. */
  onCaller(caller: Caller): void
  tickets: Tickets
}

/** Who asks, and for which box if a ticket says so. */
export interface Identity {
  caller: Caller | null
  /** The only box that is meant; null: whatever has the name. */
  boxId: string | null
  /**
   * Does what was asked, once nothing stands against it. A ticket is used up by that, but for what is turned away until later.
   * @throws ServiceError `token_invalid` for a ticket that another request has used meanwhile, and whatever `work` throws
   */
  enter<T>(work: () => Promise<T>): Promise<T>
}

/**
 * Who asks, by token, or by ticket where the operation takes one and there is no token.
 * @throws ServiceError for what is missing, invalid, expired, revoked, or not permitted
 */
export async function identify(given: Credentials, deps: IdentifyDeps): Promise<Identity> {
  const { operation, headers, target, ticket, requestId } = given
  const isAnonymous = headers.authorization === undefined
  if (isAnonymous && ticket !== null && takesTicket(operation)) {
    const grant = deps.tickets.check(ticket, { operationId: operation.id, target })
    const caller = { ...grant.caller, requestId }
    deps.onCaller(caller)
    await deps.checkAlive(caller.tokenId)
    return { caller, boxId: grant.boxId, enter: (work) => enterByTicket(ticket, deps.tickets, work) }
  }
  if (operation.permission === null && isAnonymous) return ANONYMOUS
  try {
    return await identifyBearer(given, deps)
  } catch (error) {
    if (operation.badToken === 'ignored' && error instanceof ServiceError && error.status === 401) return ANONYMOUS
    throw error
  }
}

async function identifyBearer(
  { operation, params, headers, requestId }: Credentials,
  deps: IdentifyDeps,
): Promise<Identity> {
  const claims = await deps.verifyToken(bearerToken(headers))
  const caller: Caller = {
    tokenId: claims.jti,
    tokenName: claims.sub,
    projects: claims.projects,
    permissions: claims.permissions,
    expiresAt: claims.exp === null ? null : claims.exp * 1000,
    requestId,
  }
  deps.onCaller(caller)
  await deps.checkAlive(claims.jti)
  authorize(operation, params, claims)
  return { caller, boxId: null, enter }
}

async function enter<T>(work: () => Promise<T>): Promise<T> {
  return work()
}

async function enterByTicket<T>(ticket: string, tickets: Tickets, work: () => Promise<T>): Promise<T> {
  const giveBack = tickets.take(ticket)
  try {
    return await work()
  } catch (error) {
    if (error instanceof ServiceError && TURNED_AWAY.has(error.code)) giveBack()
    throw error
  }
}

const ANONYMOUS: Identity = { caller: null, boxId: null, enter }

// Nothing was done then, and the client is told to come again.
const TURNED_AWAY: ReadonlySet<string> = new Set(['rate_limited', 'draining'])
