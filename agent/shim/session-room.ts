import type { ServiceError } from '../../shared/errors.ts'
import { createFairShares } from '../../shared/fair-shares.ts'
import { refusal } from '../../shared/refusals.ts'
import { SHIM_LIMITS } from '../drivers/exec/shim-protocol.ts'

/** Bounds the console sessions of all boxes, which accounts share. */
export interface SessionRoom {
  /** Takes the room of one. Returns its release. Throws `rate_limited` if an account would have more of 256 than it leaves free. */
  take(accounts: readonly string[]): () => void
}

export function createSessionRoom(): SessionRoom {
  const shares = createFairShares(SHIM_LIMITS.sessions)
  return {
    take: (accounts) => {
      const leave = shares.take(accounts)
      if (leave === null)
        throw tooManySessions(
          `Boxes share ${SHIM_LIMITS.sessions} sessions, and this box, project or token has its share of them.`,
        )
      return leave
    },
  }
}

/** Creates the error for one session too many. `why` names the limit. */
export function tooManySessions(why: string): ServiceError {
  return refusal('rate_limited', [why, 'End one first.'])
}
