import type { ServiceError } from '../errors.ts'
import { createFairShares, type Owners } from '../fair-shares.ts'
import { refusal } from '../refusals.ts'
import type { HttpRequest } from './messages.ts'

/** Bounds the memory of all request bodies, except small ones, until their requests are answered. */
export interface BodyBudget {
  /**
   * Reserves memory before reading a body. The returned function releases it.
   * @throws ServiceError `rate_limited` if less would remain free than one of the `owners` then holds
   */
  hold(owners: () => Owners, bytes: number): () => void
}

/** Creates a budget of `maxBytes`. Does not count bodies up to `smallBytes`. */
export function createBodyBudget(maxBytes: number, smallBytes = 64 * 1024): BodyBudget {
  const shares = createFairShares(maxBytes)
  return {
    hold: (owners, bytes) => {
      if (bytes <= smallBytes) return () => undefined
      const release = shares.take(owners(), bytes)
      if (release === null) throw tooMuch()
      return release
    },
  }
}

/** Returns the length of a body that is read up to `maxBytes`. A body without `content-length` counts as the longest allowed. */
export function heldBytes({ headers }: Pick<HttpRequest, 'headers'>, maxBytes: number): number {
  const length = headers['content-length']
  if (length === undefined) return headers['transfer-encoding'] === undefined ? 0 : maxBytes
  return Math.min(Number(length), maxBytes)
}

function tooMuch(): ServiceError {
  return refusal('rate_limited', ['Too many requests with large bodies are not answered yet.', 'Try again in 1 s.'], {
    headers: { 'Retry-After': '1' },
  })
}
