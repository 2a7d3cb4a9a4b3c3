import { createFairShares } from './fair-shares.ts'

/** A fair queue for a bounded resource. */
export interface FairTurns {
  /**
   * Takes a turn of `owner`, and returns the function that ends it. Returns null if it would hold more than remains free, or is already
   * waiting.
   */
  take(owner: string): (() => void) | null
  /** Waits for a turn. Rejects with the reason of `signal` if that aborts first, and at once if too many are already waiting. */
  wait(owner: string, signal: AbortSignal): Promise<() => void>
  /** Counts waiting turns. */
  waiting(): number
}

/**
 * Creates a fair queue with at most `atOnce` turns. At most `waitingMax` can wait, half of them of one owner. Serves owners in rotation.
 */
export function createFairTurns(atOnce: number, waitingMax: number): FairTurns {
  const shares = createFairShares(atOnce)
  const places = createFairShares(waitingMax)
  const queues = new Map<string, Set<() => boolean>>()
  const begin = (owner: string): (() => void) | null => {
    const release = shares.take(owner)
    return (
      release &&
      (() => {
        release()
        serveNext()
      })
    )
  }
  const serveNext = (): void => {
    for (const [owner, queue] of [...queues]) {
      const [next] = queue
      if (shares.held() >= atOnce || next === undefined) return
      // The owner just served goes behind the others.
      if (!next() || !queues.delete(owner)) continue
      queues.set(owner, queue)
    }
  }
  const wait = (owner: string, signal: AbortSignal, leave: () => void): Promise<() => void> =>
    new Promise((resolve, reject) => {
      const queue = queues.get(owner) ?? new Set()
      queues.set(owner, queue)
      const stop = (): void => {
        queue.delete(attempt)
        if (queue.size === 0 && queues.get(owner) === queue) queues.delete(owner)
        signal.removeEventListener('abort', abort)
        leave()
      }
      const attempt = (): boolean => {
        const end = begin(owner)
        if (end === null) return false
        stop()
        resolve(end)
        return true
      }
      const abort = (): void => {
        stop()
        reject(signal.reason as Error)
      }
      queue.add(attempt)
      signal.addEventListener('abort', abort, { once: true })
    })
  return {
    take: (owner) => (queues.has(owner) ? null : begin(owner)),
    wait: async (owner, signal) => {
      signal.throwIfAborted()
      const leave = places.take(owner)
      if (leave === null) throw new Error(`${places.held()} requests wait for their turn`)
      return wait(owner, signal, leave)
    },
    waiting: () => places.held(),
  }
}
