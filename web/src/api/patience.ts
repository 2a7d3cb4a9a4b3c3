import { ApiError } from '@boxyard/sdk'

/** A caller that waits for a service that may be away. */
export interface Patience {
  signal: AbortSignal
  /** Called when the service becomes unreachable, and when it is reachable again. */
  onLost(isLost: boolean): void
}

/**
 * Repeats a read until it is answered, with pauses that double.
 * @throws ApiError for a 4xx answer that another request would also get; the reason of the signal once that is aborted
 */
export async function readPersistently<T>(read: () => Promise<T>, { signal, onLost }: Patience): Promise<T> {
  for (const pauses = createPauses(); ; ) {
    try {
      const answer = await read()
      onLost(false)
      return answer
    } catch (error) {
      signal.throwIfAborted()
      if (isForGood(error)) throw error
    }
    onLost(true)
    await pauses.wait(signal)
    signal.throwIfAborted()
  }
}

/** Returns true for an answer that another request would also get. */
export function isForGood(error: unknown): boolean {
  return error instanceof ApiError && error.status < 500 && !error.retryable
}

/** Returns true for a failure that another try may fix. An unreachable service may be back soon, but a refusal stays. */
export function mayHeal(error: unknown): boolean {
  return !(error instanceof ApiError) || error.retryable
}

/** The pauses before retries, each twice as long as the one before. */
export interface Pauses {
  /** Waits for the next pause, at most until `signal` aborts. */
  wait(signal: AbortSignal): Promise<void>
  /** Resets to the shortest pause, once something has arrived. */
  restart(): void
}

/** Creates pauses that double from the first to the longest. */
export function createPauses({ firstMs = 250, longestMs = 5_000 } = {}): Pauses {
  let nextMs = firstMs
  return {
    wait: (signal) => {
      const ms = nextMs
      nextMs = Math.min(2 * ms, longestMs)
      return pauseFor(ms, signal)
    },
    restart: () => {
      nextMs = firstMs
    },
  }
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
