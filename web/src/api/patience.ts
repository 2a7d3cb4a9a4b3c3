import { ApiError } from '@boxyard/sdk'

/** Whoever waits for a service that may be away. */
export interface Patience {
  signal: AbortSignal
  /** Told when the service cannot be reached, and when it can be again. */
  onLost(isLost: boolean): void
}

/**
 * Repeats a read until it is answered, with pauses that double.
 * @throws ApiError for an answer of 4xx that another request would get as well; the reason of the signal once that is aborted
 */
export async function readPersistently<T>(read: () => Promise<T>, { signal, onLost }: Patience): Promise<T> {
  for (let pauseMs = PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MAX_MS)) {
    try {
      const answer = await read()
      onLost(false)
      return answer
    } catch (error) {
      signal.throwIfAborted()
      if (isForGood(error)) throw error
    }
    onLost(true)
    await pauseFor(pauseMs, signal)
    signal.throwIfAborted()
  }
}

/** Returns true for an answer that another request would get as well. */
export function isForGood(error: unknown): boolean {
  return error instanceof ApiError && error.status < 500 && !error.retryable
}

/** Waits, at most until `signal` aborts. */
export function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    if (signal.aborted) end()
    else signal.addEventListener('abort', end)
  })
}

/** The first pause before what is lost is tried again, and the longest. */
export const PAUSE_MS = 250
export const PAUSE_MAX_MS = 5_000
