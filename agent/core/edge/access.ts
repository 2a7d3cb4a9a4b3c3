import { authorize, mayEnter, type TokenClaims, type TokenVerifier } from '../../../shared/auth/tokens.ts'
import { asServiceError, ServiceError } from '../../../shared/errors.ts'
import { bearerToken } from '../../../shared/http/messages.ts'
import type { EdgeRequest } from '../../ports/edge/edge.ts'
import type { FailedAuthLimit } from './failed-auth-limit.ts'
import type { EdgeGrants, ShownToken } from './grants.ts'
import { isFromOwnPage, sessionOf } from './request.ts'

export interface AccessDeps {
  verifyToken: TokenVerifier
  /** @throws ServiceError for a token that was revoked, or is none of this deployment */
  checkAlive(tokenId: string): Promise<void>
  grants: Pick<EdgeGrants, 'allowToken' | 'allowSession'>
  failedAuth: FailedAuthLimit
}

/** Whose boxes are asked for: null where the address does not say. `isKnown`: there is a box that has it. */
export interface AccessPlace {
  project: string | null
  isKnown: boolean
}

/** Says who may pass to a box whose URL takes a token. */
export interface Access {
  /**
   * What a token says, if it opens boxes of the project: it is good, and has `read` there.
   * @throws ServiceError `token_invalid`, `token_expired`, `token_revoked`, `permission_denied`, `rate_limited`
   */
  showToken(token: string, from: { project: string | null; clientAddress: string }): Promise<Shown>
  /**
   * Lets a request pass by its bearer token or its session, from now on without being asked about again.
   * @throws ServiceError as `showToken`, and `token_missing`
   */
  admit(request: EdgeRequest, place: AccessPlace): Promise<void>
}

/** A token, verified. */
export interface Shown extends ShownToken {
  name: string
}

/** Access by what tokens say now. */
export function createAccess({ verifyToken, checkAlive, grants, failedAuth }: AccessDeps): Access {
  const verify = async (token: string, project: string | null): Promise<Shown> => {
    const claims = await verifyToken(token)
    await checkAlive(claims.jti)
    checkScope(claims, project)
    return { tokenId: claims.jti, name: claims.sub, expiresAt: claims.exp === null ? null : claims.exp * 1000 }
  }
  const admitToken = async (token: string, { project, isKnown }: AccessPlace): Promise<ServiceError | null> => {
    try {
      const shown = await verify(token, project)
      if (isKnown && project !== null) await grants.allowToken(token, { ...shown, project })
      return null
    } catch (error) {
      const known = asServiceError(error)
      if (known.status === 401 || known.status === 403) return known
      throw error
    }
  }
  return {
    showToken: async (token, { project, clientAddress }) => {
      failedAuth.check(clientAddress)
      try {
        return await verify(token, project)
      } catch (error) {
        if (asServiceError(error).code === 'token_invalid') failedAuth.note(clientAddress)
        throw error
      }
    },
    admit: async (request, place) => {
      const { headers, host, clientAddress } = request
      const token = bearerToken(headers)
      const session = sessionOf(headers.cookie)
      if (token === undefined && session === undefined) throw missingToken()
      failedAuth.check(clientAddress)
      const fault = token === undefined ? missingToken() : await admitToken(token, place)
      if (fault === null) return
      // A box behind a session may use the header for tokens of its own.
      const hasSession = session !== undefined && (await grants.allowSession(session, { host, project: place.project }))
      if (!hasSession) {
        if (session !== undefined || fault.code === 'token_invalid') failedAuth.note(clientAddress)
        throw fault
      }
      if (!isFromOwnPage(request)) throw new ServiceError('permission_denied', FOREIGN_PAGE)
    },
  }
}

function checkScope(claims: TokenClaims, project: string | null): void {
  authorize({ permission: 'read' }, {}, claims)
  const mayPass = project === null ? claims.projects === '*' : mayEnter(claims, project)
  if (!mayPass) throw new ServiceError('permission_denied', 'The token is not for this project.')
}

function missingToken(): ServiceError {
  return new ServiceError('token_missing', 'This address needs `Authorization: Bearer <token>`, or a sign-in.')
}

const FOREIGN_PAGE =
  'A request of a session that changes something, or opens a WebSocket, must come from a page of the same address (`Origin`).'
