import type { Readable } from 'node:stream'

/** Lets a stream flow while no reason holds it. Several reasons can hold it independently. */
export interface Valve {
  readonly stream: Readable
  /** Pauses the stream until no reason to hold it is left. */
  hold(reason: HoldReason): void
  /** Ends a hold, or does nothing if there is none. */
  release(reason: HoldReason): void
}

/** Its turn has ended, its reader lags, or its bytes are dropped. */
export type HoldReason = 'turn' | 'reader' | 'dropped'

/** Creates the flow control of a stream that nothing else pauses or resumes. */
export function createValve(stream: Readable): Valve {
  const reasons = new Set<HoldReason>()
  return {
    stream,
    hold: (reason) => {
      if (reasons.size === 0) stream.pause()
      reasons.add(reason)
    },
    release: (reason) => {
      if (reasons.delete(reason) && reasons.size === 0) stream.resume()
    },
  }
}
