import { ServiceError } from '../../shared/errors.ts'
import { createFairShares } from '../../shared/fair-shares.ts'

/** Bounds the memory of all large request bodies until their requests are answered. */
export interface BodyBudget {
  /**
   * Reserves memory before a body is read; the returned function releases it. Bodies up to 64 KiB are not counted.
   * @throws ServiceError `rate_limited` if less would be left than the `owner` then holds
   */
  hold(owner: () => string, bytes: number): () => void
}

/** Creates a budget of `maxBytes`. */
export function createBodyBudget(maxBytes: number): BodyBudget {
  const shares = createFairShares(maxBytes)
  return {
    hold: (owner, bytes) => {
      if (bytes <= SMALL_BYTES) return () => undefined
      const release = shares.take(owner(), bytes)
      if (release === null) throw tooMuch()
      return release
    },
  }
}

function tooMuch(): ServiceError {
  return new ServiceError('rate_limited', 'Too many requests with large bodies are not answered yet.', {
    headers: { 'Retry-After': '1' },
  })
}

const SMALL_BYTES = 64 * 1024
