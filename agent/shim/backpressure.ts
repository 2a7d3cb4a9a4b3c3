import type { Readable } from 'node:stream'

/** A stream that is read no faster than the fastest of those who look at it. */
export interface BackpressureSource {
  sources: readonly Readable[]
  /** Nobody reads on while all who are attached are so many bytes behind. */
  paceBytes: number
}

/** Stops reading what all who are attached are behind with, and reads on. */
export interface Backpressure {
  /** To be called whenever somebody has come nearer, fallen behind, come or gone; `lags` are those of all, in bytes. */
  check(lags: readonly number[]): void
}

export function createBackpressure({ sources, paceBytes }: BackpressureSource): Backpressure {
  let isPaused = false
  return {
    check: (lags) => {
      const isBehind = lags.length > 0 && lags.every((lag) => lag > paceBytes)
      if (isBehind === isPaused) return
      isPaused = isBehind
      for (const source of sources)
        if (isBehind) source.pause()
        else source.resume()
    },
  }
}
