import { ConnectionError } from './api-error.ts'

/** `x-boxyard-retry` of an operation, which says whether a client can repeat a request that got no answer. */
export type RetryMark = 'safe' | 'idempotent' | 'key' | 'never'

export interface RetryOptions {
  mark: RetryMark
  /** Maximum number of attempts, at least 1. */
  attempts: number
  fetch: (request: Request) => Promise<Response>
}

/**
 * Sends the request until it gets a final answer. Repeats it after a temporary refusal (429, 502, 503, 504), following its `Retry-After`.
 * Repeats it without an answer only if the mark allows it. Sends a body that is a stream once.
 * @throws ConnectionError if no answer came; the error of a body that is a stream; the reason of the request's signal if that was aborted
 */
export async function fetchWithRetries(request: Request, options: RetryOptions): Promise<Response> {
  const { mark, attempts, fetch } = options
  for (let attempt = 1; ; attempt++) {
    const isLast = attempt >= attempts
    try {
      const response = await fetch(isLast ? request : request.clone())
      if (isLast || !isWorthRepeating(response.status, mark)) return response
      await response.body?.cancel()
      await pause(retryAfterMs(response) ?? backoffMs(attempt), request.signal)
    } catch (error) {
      request.signal.throwIfAborted()
      if (isLast || mark === 'never') throw unreachable(request, error)
      await pause(backoffMs(attempt), request.signal)
    }
  }
}

/** Spaces long-poll requests. If the service answers at once with nothing, the client asks once a second. */
export class Pace {
  #next = 0

  /** Reports that something arrived. The next request then goes out at once. */
  reset(): void {
    this.#next = 0
  }

  /** Waits until a second after the last request that it allowed. Rejects as `pause` does. */
  async wait(signal?: AbortSignal | null): Promise<void> {
    const left = this.#next - performance.now()
    if (left > 0) await pause(left, signal)
    this.#next = performance.now() + 1000
  }
}

/** Waits. Rejects with the signal's reason once the signal aborts. */
export function pause(ms: number, signal?: AbortSignal | null): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer)
      reject(signal?.reason as Error)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    if (signal?.aborted === true) abort()
    else signal?.addEventListener('abort', abort, { once: true })
  })
}

// An answer of 429 had no effect, so even a request that is not repeatable is sent again.
function isWorthRepeating(status: number, mark: RetryMark): boolean {
  return status === 429 || (mark !== 'never' && (status === 502 || status === 503 || status === 504))
}

function unreachable(request: Request, cause: unknown): Error {
  const reason = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause
  // Network errors have a code. Any other error comes from the stream to send.
  if (request.body && reason instanceof Error && reason !== cause && !('code' in reason)) return reason
  const why = reason instanceof Error ? reason.message : String(reason)
  return new ConnectionError(`${new URL(request.url).origin} cannot be reached: ${why}`, { cause })
}

function retryAfterMs({ headers }: Response): number | null {
  // Accepts only whole seconds, because the service sends no dates, and negative or invalid values cannot be waited for.
  const seconds = headers.get('retry-after') ?? ''
  return /^\d{1,12}$/.test(seconds) ? Math.min(Number(seconds) * 1000, LONGEST_MS) : null
}

function backoffMs(attempt: number): number {
  return Math.min(FIRST_MS * 2 ** (attempt - 1), LONGEST_MS) * (0.75 + Math.random() / 2)
}

const FIRST_MS = 100
const LONGEST_MS = 20_000
