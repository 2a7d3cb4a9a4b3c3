import type { Refusal } from '../../shared/auth/channel.ts'
import { unverifiedClaims } from '../../shared/auth/tokens.ts'
import { ServiceError } from '../../shared/errors.ts'
import { LOOP_TURNS } from '../../shared/flow-turns.ts'
import { bearerToken } from '../../shared/http/messages.ts'
import { projectOwner } from '../../shared/rotation.ts'
import { STRANGERS } from './audit.ts'
import type { RequestHead } from './trust.ts'

/**
 * Returns the owner of a request for something of a project. It is the project, or the shared owner of unauthenticated clients, which may
 * have a ticket.
 */
export function askerOf({ headers }: Pick<RequestHead, 'headers'>, project: string): string {
  return unverifiedClaims(bearerToken(headers)) === null ? STRANGERS : projectOwner(project).project
}

export interface PassCheckDeps {
  /** Returns why a request is not one of the functions. Null: it is one. */
  checkSender(request: RequestHead): Refusal | null
  /** @throws ServiceError for a token that was revoked */
  checkAlive(tokenId: string): Promise<void>
  /** Notes that an owner asks (`FlowTurns.note`). Default: in the turns of this process's event loop. */
  note?(owner: string): void
}

/**
 * Resolves with true if this agent may ask other cells or the cluster for a request of `owner`. That is a project as `projectOwner` names
 * it, or `token ROOT`. Otherwise the dispatch of this cell refuses it with the reason.
 */
export type PassCheck = (request: RequestHead, owner: string) => Promise<boolean>

/**
 * Creates the check. It passes requests that the functions have signed, with a token that has not ended. These count as requests of the
 * project. Bytes of other projects then leave them time in the event loop of this agent, as at the owner.
 */
export function createPassCheck({ checkSender, checkAlive, note = LOOP_TURNS.note }: PassCheckDeps): PassCheck {
  return async (request, owner) => {
    if (checkSender(request) !== null) return false
    // The functions have verified the token, and cannot know whether it was revoked.
    const claims = unverifiedClaims(bearerToken(request.headers))
    if (claims === null) return true
    try {
      await checkAlive(claims.jti)
    } catch (error) {
      if (error instanceof ServiceError && error.status === 401) return false
      // A token that cannot be looked up here may be known to the owner.
    }
    note(owner)
    return true
  }
}
