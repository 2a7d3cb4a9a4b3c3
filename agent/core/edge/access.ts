import {
  authorize,
  mayEnter,
  notForProject,
  type TokenClaims,
  type TokenVerifier,
} from '../../../shared/auth/tokens.ts'
import { asServiceError, type ErrorCode, ServiceError } from '../../../shared/errors.ts'
import { permissionDenied } from '../../../shared/refusals.ts'
import type { FailedAuthLimit } from './failed-auth-limit.ts'
import type { EdgeGrants, GrantToken } from './grants.ts'

export interface AccessDeps {
  verifyToken: TokenVerifier
  /** @throws ServiceError for a token that was revoked or is not of this deployment */
  checkAlive(tokenId: string): Promise<void>
  grants: Pick<EdgeGrants, 'allowToken' | 'allowSession'>
  failedAuth: FailedAuthLimit
}

/** The requested host. `isKnown`: a box has it, in `project`. Otherwise the project is what the name says, null if none. */
export type AccessTarget = { isKnown: true; project: string } | { isKnown: false; project: string | null }

/** The parts of a request that admission depends on. */
export interface AccessRequest {
  host: string
  clientAddress: string
  /** The bearer token. Undefined for none. */
  token: string | undefined
  /** Value of the session cookie. Undefined for none. */
  session: string | undefined
  /** No page of another origin can have caused the request with the client's cookies. */
  isFromOwnPage: boolean
}

/** Authenticates requests for boxes whose `url_settings.auth` is `token`. */
export interface Access {
  /**
   * Verifies a token that a person entered, and its permission `read` in the project.
   * @throws ServiceError `token_invalid`, `token_expired`, `token_revoked`, `permission_denied`, `rate_limited`
   */
  verifyFor(token: string, from: { project: string | null; clientAddress: string }): Promise<VerifiedToken>
  /**
   * Admits a request by its bearer token or session, and grants that credential at the edge, which then admits it without asking.
   * @throws ServiceError as `verifyFor`, and `token_missing`
   */
  admit(request: AccessRequest, target: AccessTarget): Promise<void>
}

/** A verified token. */
export interface VerifiedToken extends GrantToken {
  name: string
}

/** Creates an `Access` that verifies the current state of tokens. */
export function createAccess({ verifyToken, checkAlive, grants, failedAuth }: AccessDeps): Access {
  const verify = async (token: string, project: string | null): Promise<VerifiedToken> => {
    const claims = await verifyToken(token)
    await checkAlive(claims.jti)
    checkScope(claims, project)
    return { tokenId: claims.jti, name: claims.sub, expiresAt: claims.exp === null ? null : claims.exp * 1000 }
  }
  const admitToken = async (token: string, { project, isKnown }: AccessTarget): Promise<ServiceError | null> => {
    try {
      const verified = await verify(token, project)
      if (isKnown) await grants.allowToken(token, { ...verified, project })
      return null
    } catch (error) {
      const known = asServiceError(error)
      if (isAccessFault(known)) return known
      throw error
    }
  }
  return {
    verifyFor: async (token, { project, clientAddress }) => {
      failedAuth.check(clientAddress)
      try {
        return await verify(token, project)
      } catch (error) {
        if (asServiceError(error).code === 'token_invalid') failedAuth.countFailure(clientAddress)
        throw error
      }
    },
    admit: async ({ token, session, isFromOwnPage, host, clientAddress }, target) => {
      if (token === undefined && session === undefined) throw missingToken()
      failedAuth.check(clientAddress)
      const fault = token === undefined ? missingToken() : await admitToken(token, target)
      if (fault === null) return
      // The box may use `Authorization` for its own tokens, so a session admits despite a token that is not valid here.
      const hasSession =
        session !== undefined && (await grants.allowSession(session, { host, project: target.project }))
      if (!hasSession) {
        if (session !== undefined || fault.code === 'token_invalid') failedAuth.countFailure(clientAddress)
        throw fault
      }
      if (!isFromOwnPage) throw permissionDenied(FOREIGN_PAGE, 'Open this address directly, or send a token.')
    },
  }
}

/** Returns true for a fault that a sign-in can fix, a missing token or one that is not valid now. */
export function isTokenFault({ code }: ServiceError): boolean {
  return TOKEN_FAULTS.has(code)
}

/** Returns true for a fault that another token can fix. This is a fault of `isTokenFault`, or a valid token without access. */
export function isAccessFault(fault: ServiceError): boolean {
  return isTokenFault(fault) || fault.code === 'permission_denied'
}

function checkScope(claims: TokenClaims, project: string | null): void {
  authorize({ permission: 'read' }, {}, claims)
  const mayPass = project === null ? claims.projects === '*' : mayEnter(claims, project)
  if (!mayPass) throw notForProject(claims.projects)
}

function missingToken(): ServiceError {
  return new ServiceError('token_missing', 'Send `Authorization: Bearer <token>`, or sign in at this address.')
}

const TOKEN_FAULTS: ReadonlySet<ErrorCode> = new Set([
  'token_missing',
  'token_invalid',
  'token_expired',
  'token_revoked',
])
const FOREIGN_PAGE =
  'A request of a session must come from a page of the same address, or open this one (`Sec-Fetch-Site`, `Origin`, `Referer`).'
