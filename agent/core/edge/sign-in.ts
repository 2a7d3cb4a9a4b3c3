import type { Access, VerifiedToken } from './access.ts'
import type { FailedAuthLimit } from './failed-auth-limit.ts'
import type { EdgeGrants } from './grants.ts'
import type { SignInCodes } from './sign-in-codes.ts'
import { type FindTargetDeps, findTarget, hostNotFound } from './target.ts'

export interface SignInDeps extends FindTargetDeps {
  access: Pick<Access, 'verifyFor'>
  grants: Pick<EdgeGrants, 'beginSession'>
  codes: SignInCodes
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

/** Exchanges tokens for sessions: a one-time code hands the sign-in from the sign-in host to the box's host. */
export interface SignIn {
  /** @throws ServiceError `box_not_found` for a host without a sign-in */
  checkHost(host: string): Promise<void>
  /**
   * Verifies a token and issues a code, for that host and browser only.
   * @throws ServiceError as `checkHost`, `Access.verifyFor`; `box_not_found` to a valid token if no box has the host
   */
  begin(token: string, request: SignInRequest): Promise<{ code: string } & Pick<VerifiedToken, 'tokenId' | 'name'>>
  /**
   * Begins a session. Null if the code is unknown, used, expired, or of another host or browser. Any code is used up by it.
   * `nonceDigest` is null for a browser without the cookie.
   * @throws ServiceError `rate_limited`; `token_revoked` if the token was revoked in between
   */
  redeem(
    code: string,
    by: Pick<SignInRequest, 'host' | 'clientAddress'> & { nonceDigest: string | null },
  ): Promise<{ value: string; expiresAt: number; target: string } | null>
}

/** Creates the sign-in. Codes are in memory: sign-ins under way do not survive the process. */
export function createSignIn(deps: SignInDeps): SignIn {
  const { access, grants, codes, failedAuth } = deps
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
  }
}
