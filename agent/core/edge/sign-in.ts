import { ServiceError } from '../../../shared/errors.ts'
import type { Redeemed, Tickets } from '../access/tickets.ts'
import type { Access, VerifiedToken } from './access.ts'
import type { FailedAuthLimit } from './failed-auth-limit.ts'
import type { EdgeGrants } from './grants.ts'
import type { SignInCodes } from './sign-in-codes.ts'
import { type FindTargetDeps, findTarget, hostNotFound } from './target.ts'

export interface SignInDeps extends FindTargetDeps {
  access: Pick<Access, 'verifyFor'>
  grants: Pick<EdgeGrants, 'beginSession'>
  codes: SignInCodes
  tickets: Pick<Tickets, 'check' | 'take'>
  failedAuth: FailedAuthLimit
}

/** The sign-in of a person: where, and from which browser. */
export interface SignInRequest {
  host: string
  /** SHA-256, hexadecimal, of the nonce cookie that the browser has at `host`. */
  nonceDigest: string
  /** Path and query to open afterwards. */
  target: string
  clientAddress: string
}

/** Exchanges tokens for sessions. A one-time code hands the sign-in from the sign-in host to the box's host. */
export interface SignIn {
  /** @throws ServiceError `box_not_found` for a host without a sign-in */
  checkHost(host: string): Promise<void>
  /**
   * Verifies a token and issues a code, for that host and browser only.
   * @throws ServiceError as `checkHost`, `Access.verifyFor`, and `box_not_found` to a valid token if no box has the host
   */
  begin(token: string, request: SignInRequest): Promise<{ code: string } & Pick<VerifiedToken, 'tokenId' | 'name'>>
  /**
   * Begins a session. Null if the code is unknown, used, expired, or of another host or browser. Any code is used up by it. `nonceDigest`
   * is null for a browser without the cookie.
   * @throws ServiceError `rate_limited`, or `token_revoked` if the token was revoked in between
   */
  redeem(
    code: string,
    by: Pick<SignInRequest, 'host' | 'clientAddress'> & { nonceDigest: string | null },
  ): Promise<{ value: string; expiresAt: number; target: string } | null>
  /**
   * Tests a ticket of `visitOf` without using it up. A ticket for another address is invalidated.
   * @throws ServiceError `rate_limited` after too many wrong ones
   */
  mayVisit(ticket: string, at: Pick<SignInRequest, 'host' | 'target' | 'clientAddress'>): boolean
  /**
   * Uses up a ticket of `visitOf` in place of a token, and issues a code as `begin`. Null if the ticket is not for this address, is used or
   * expired, or if another box has the host since.
   * @throws ServiceError `rate_limited` after too many wrong ones
   */
  visit(ticket: string, request: SignInRequest): Promise<Awaited<ReturnType<SignIn['begin']>> | null>
}

/** Returns the request that a ticket for a URL is issued for: `host` without a port, `target` a path, with query and fragment. */
export function visitOf(host: string, target: string): { operationId: string; target: string } {
  return { operationId: 'visit', target: `${host}${target}` }
}

/** Creates the sign-in. Codes are in memory, so sign-ins under way do not survive the process. */
export function createSignIn(deps: SignInDeps): SignIn {
  const { access, grants, codes, tickets, failedAuth } = deps
  // Null for a ticket that is unknown, used, expired or for another request, which counts as a failure.
  const redeemed = (clientAddress: string, redeem: () => Redeemed): Redeemed | null => {
    failedAuth.check(clientAddress)
    try {
      return redeem()
    } catch (error) {
      if (!(error instanceof ServiceError && error.status === 401)) throw error
      failedAuth.countFailure(clientAddress)
      return null
    }
  }
  return {
    checkHost: async (host) => {
      await findTarget(deps, host)
    },
    begin: async (token, { host, nonceDigest, target, clientAddress }) => {
      const { project, isKnown } = await findTarget(deps, host)
      const { tokenId, name, expiresAt } = await access.verifyFor(token, { project, clientAddress })
      if (!isKnown) throw hostNotFound()
      return { code: codes.issue({ tokenId, expiresAt, project, host, nonceDigest, target }), tokenId, name }
    },
    redeem: async (code, { nonceDigest, host, clientAddress }) => {
      failedAuth.check(clientAddress)
      const signedIn = codes.take(code)
      if (signedIn === null) failedAuth.countFailure(clientAddress)
      if (signedIn === null || signedIn.host !== host || signedIn.nonceDigest !== nonceDigest) return null
      return { ...(await grants.beginSession(host, signedIn)), target: signedIn.target }
    },
    mayVisit: (ticket, { host, target, clientAddress }) =>
      redeemed(clientAddress, () => tickets.check(ticket, visitOf(host, target))) !== null,
    visit: async (ticket, { host, nonceDigest, target, clientAddress }) => {
      const found = redeemed(clientAddress, () => {
        const valid = tickets.check(ticket, visitOf(host, target))
        tickets.take(ticket)
        return valid
      })
      if (found === null) return null
      const known = await deps.hosts.lookup(host)
      if (known === null || known.box.id !== found.boxId) return null
      const { project } = known.box
      const { tokenId, tokenName: name, expiresAt } = found.caller
      return { code: codes.issue({ tokenId, expiresAt, project, host, nonceDigest, target }), tokenId, name }
    },
  }
}
