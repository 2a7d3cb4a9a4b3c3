import { BUCKETS_MAX, createBuckets } from './buckets.ts'

/** Bounds the lines of the log that one caller causes, so that no caller rotates the lines of others out of it. */
export interface LineBudget {
  /**
   * Takes a line of `key`. Returns how many of its lines were omitted since the last one that was written, or null if this one must be
   * omitted too.
   */
  take(key: string): number | null
}

/** Creates a budget of 500 lines at once for each key, plus one a second. `now` is in milliseconds. */
export function createLineBudget({ now }: { now(): number }): LineBudget {
  const buckets = createBuckets({ perSecond: 1, burst: BURST, clock: { now } })
  const leftOut = new Map<string, number>()
  return {
    take: (key) => {
      const isWritten = buckets.waitOf(key) === null
      buckets.take(key)
      const before = leftOut.get(key) ?? 0
      leftOut.delete(key)
      leftOut.set(key, isWritten ? 0 : before + 1)
      // Forgets the keys that the buckets forget.
      if (leftOut.size > BUCKETS_MAX) leftOut.delete(leftOut.keys().next().value ?? '')
      return isWritten ? before : null
    },
  }
}

/** Writes a line for `key` if its budget allows that. Without a budget it omits none. */
export function logBounded(
  key: string,
  lines: LineBudget | undefined,
  write: (leftOut: { left_out?: number }) => void,
): void {
  const leftOut = lines?.take(key) ?? (lines ? null : 0)
  if (leftOut !== null) write(leftOutField(leftOut))
}

/** Returns the field that reports lines omitted before this one, or no field if there are none. */
export function leftOutField(leftOut: number): { left_out?: number } {
  return leftOut === 0 ? {} : { left_out: leftOut }
}

const BURST = 500
