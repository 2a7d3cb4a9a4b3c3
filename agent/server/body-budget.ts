import { ServiceError } from '../../shared/errors.ts'

/** The memory that large bodies of requests may take, all together, until the requests are answered. */
export interface BodyBudget {
  /**
   * Makes room for a body of that many bytes before it is read; returns what gives the room back. A small one always has room.
   * @throws ServiceError `rate_limited`
   */
  hold(bytes: number): () => void
}

/** A budget of `mostBytes`, all free. */
export function createBodyBudget(mostBytes: number): BodyBudget {
  let heldBytes = 0
  return {
    hold: (bytes) => {
      if (bytes <= SMALL_BYTES) return () => undefined
      if (heldBytes + bytes > mostBytes) throw tooMuch()
      heldBytes += bytes
      return () => {
        heldBytes -= bytes
      }
    },
  }
}

function tooMuch(): ServiceError {
  return new ServiceError('rate_limited', 'Too many requests with large bodies are not answered yet.', {
    headers: { 'Retry-After': '1' },
  })
}

const SMALL_BYTES = 64 * 1024
