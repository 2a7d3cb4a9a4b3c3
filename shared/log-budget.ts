/** Bounds the lines of the log that one caller causes, so that none rolls those of others out of it. */
export interface LineBudget {
  /**
   * Takes a line of `key`. Returns how many of it were left out since the last one that was written; null if this one is to be left
   * out, too.
   */
  take(key: string): number | null
}

/** Creates a budget of 500 lines at once for each key, and one more a second; `now` is in milliseconds. */
export function createLineBudget({ now }: { now(): number }): LineBudget {
  const entries = new Map<string, { left: number; at: number; leftOut: number }>()
  return {
    take: (key) => {
      const at = now()
      const { left, at: before, leftOut } = entries.get(key) ?? { left: BURST, at, leftOut: 0 }
      const filled = Math.min(BURST, left + Math.max(0, at - before) / INTERVAL_MS)
      const isWritten = filled >= 1
      entries.delete(key)
      entries.set(key, { left: isWritten ? filled - 1 : filled, at, leftOut: isWritten ? 0 : leftOut + 1 })
      if (entries.size > KEYS_MAX) entries.delete(entries.keys().next().value ?? '')
      return isWritten ? leftOut : null
    },
  }
}

/** Returns the field that tells of lines left out before this one; none of none. */
export function leftOutField(leftOut: number): { left_out?: number } {
  return leftOut === 0 ? {} : { left_out: leftOut }
}

const BURST = 500
const INTERVAL_MS = 1_000
const KEYS_MAX = 10_000
