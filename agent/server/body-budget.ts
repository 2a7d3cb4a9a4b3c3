import { ServiceError } from '../../shared/errors.ts'
import { createFairShares } from '../../shared/fair-shares.ts'

/** The memory that large bodies of requests may take, all together, until the requests are answered. */
export interface BodyBudget {
  /**
   * Makes room for a body of that many bytes before it is read; returns what gives the room back. A small one always has room.
   * @throws ServiceError `rate_limited` where less would be left for the others than the `owner` has
   */
  hold(owner: () => string, bytes: number): () => void
}

/** A budget of `mostBytes`, all free. */
export function createBodyBudget(mostBytes: number): BodyBudget {
  const shares = createFairShares(mostBytes)
  return {
    hold: (owner, bytes) => {
      if (bytes <= SMALL_BYTES) return () => undefined
      const giveBack = shares.take(owner(), bytes)
      if (giveBack === null) throw tooMuch()
      return giveBack
    },
  }
}

function tooMuch(): ServiceError {
  return new ServiceError('rate_limited', 'Too many requests with large bodies are not answered yet.', {
    headers: { 'Retry-After': '1' },
  })
}

const SMALL_BYTES = 64 * 1024
