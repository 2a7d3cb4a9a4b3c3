import { authorize, type TokenVerifier } from '../../shared/auth/tokens.ts'
import { ServiceError } from '../../shared/errors.ts'
import { bearerToken, type HeaderMap } from '../../shared/http/messages.ts'
import { type Operation, opensByTicket } from '../../shared/operation.ts'
import { operations } from '../../shared/routes.ts'
import type { Tickets } from '../core/access/tickets.ts'
import { accountsOf } from '../core/common/accounts.ts'
import type { Caller } from '../core/common/caller.ts'

/** The parts of a request that identify its sender. */
export interface Credentials {
  operation: Operation
  params: Record<string, string>
  headers: HeaderMap
  /** Path and query, without the ticket. */
  target: string
  ticket: string | null
  requestId: string
}

export interface IdentifyDeps {
  verifyToken: TokenVerifier
  /** @throws ServiceError for a token that was revoked */
  checkAlive(tokenId: string): Promise<void>
  /** Called once the caller is known, before it is authorized. Throws to turn it away. */
  onCaller(caller: Caller): void
  tickets: Tickets
}

/** The authenticated caller, and the box that its ticket is bound to. */
export interface Identity {
  caller: Caller | null
  /** The only box that the request may reach. Null for any box of that name. */
  boxId: string | null
  /** Id for the command that it starts. Null for a new one. */
  execId: string | null
  /**
   * Runs the request and uses up its ticket, unless the request must be retried.
   * @throws ServiceError `token_invalid` for a ticket that another request used in between, and errors of `work`
   */
  enter<T>(work: () => Promise<T>): Promise<T>
}

/**
 * Authenticates and authorizes a request by its token, or by a ticket if the operation takes one and there is no token.
 * @throws ServiceError for a missing, invalid, expired or revoked credential, or a missing permission
 */
export async function identify(given: Credentials, deps: IdentifyDeps): Promise<Identity> {
  const { operation, headers, target, ticket, requestId } = given
  const isAnonymous = headers.authorization === undefined
  if (isAnonymous && ticket !== null && opensByTicket(operation)) {
    // A read of a link presents its sign-in ticket.
    const isRead = operation.ofLink === 'read'
    const { id: operationId, path } = operations.signIn
    const grant = deps.tickets.check(
      ticket,
      isRead ? { operationId, target: path } : { operationId: operation.id, target },
    )
    const caller = { ...grant.caller, requestId }
    deps.onCaller(caller)
    await deps.checkAlive(caller.tokenId)
    const { boxId, execId } = grant
    return { caller, boxId, execId, enter: isRead ? enter : (work) => enterByTicket(ticket, deps.tickets, work) }
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
  const root = claims.root ?? claims.jti
  const caller: Caller = {
    tokenId: claims.jti,
    tokenName: claims.sub,
    root,
    accounts: accountsOf({ ...claims, root }, params['project'] ?? null),
    projects: claims.projects,
    permissions: claims.permissions,
    expiresAt: claims.exp === null ? null : claims.exp * 1000,
    requestId,
  }
  deps.onCaller(caller)
  await deps.checkAlive(claims.jti)
  authorize(operation, params, claims)
  return { caller, boxId: null, execId: null, enter }
}

async function enter<T>(work: () => Promise<T>): Promise<T> {
  return work()
}

async function enterByTicket<T>(ticket: string, tickets: Tickets, work: () => Promise<T>): Promise<T> {
  const restore = tickets.take(ticket)
  try {
    return await work()
  } catch (error) {
    if (error instanceof ServiceError && TURNED_AWAY.has(error.code)) restore()
    throw error
  }
}

const ANONYMOUS: Identity = { caller: null, boxId: null, execId: null, enter }

// Refusals after which the client retries with the same ticket, since nothing was done.
const TURNED_AWAY: ReadonlySet<string> = new Set(['rate_limited', 'draining'])
