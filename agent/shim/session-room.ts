import { ServiceError } from '../../shared/errors.ts'
import { createFairShares } from '../../shared/fair-shares.ts'
import { SHIM_LIMITS } from '../drivers/exec/shim-protocol.ts'

/** Bounds the console sessions of all boxes, which accounts share. */
export interface SessionRoom {
  /** Takes the room of one; returns its release. Throws `rate_limited` if an account would have more of 256 than it leaves free. */
  take(accounts: readonly string[]): () => void
}

export function createSessionRoom(): SessionRoom {
  const shares = createFairShares(SHIM_LIMITS.sessions)
  return {
    take: (accounts) => {
      const leave = shares.take(accounts)
      if (leave === null) throw tooManySessions('All boxes together, or those of this project or token, have')
      return leave
    },
  }
}

/** Creates the error for more sessions than `whose` may have. */
export function tooManySessions(whose: string): ServiceError {
  return new ServiceError('rate_limited', `${whose} as many sessions as may run at once.`)
}
