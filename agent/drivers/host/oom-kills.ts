import { repeat } from '../../../shared/repeat.ts'

/** Tracks OOM kills in boxes by the kernel's counters. */
export interface OomKills {
  /** Counts all OOM kills of a box. */
  count(boxId: string): number
  /** Returns true if a kill seen now may be an OOM kill, which means that the count exceeds `since` and last rose within 2 s. */
  isRecent(boxId: string, since: number): boolean
  forget(boxId: string): void
  /** Counts the kills in all boxes, each since its first count here. Reads the counters of all boxes except forgotten ones. */
  total(): number
  /** Polls the counter of a box every second, so that it notices kills in time. Returns a function that stops it. */
  watch(boxId: string): () => void
}

/**
 * `read` returns the kernel's counter of a box, or null for a box without one. While it throws, the last count remains. `now` is in ms.
 * Only polling finds kills.
 */
export function createOomKills(read: (boxId: string) => number | null, now: () => number): OomKills {
  const seen = new Map<string, { count: number; roseAt: number }>()
  let total = 0
  const observe = (boxId: string): { count: number; roseAt: number } => {
    const before = seen.get(boxId)
    const count = readOr(before?.count ?? 0, () => read(boxId))
    if (count === null) return before ?? { count: 0, roseAt: now() }
    if (before?.count === count) return before
    // A restarted box counts from 0.
    if (before !== undefined) total += count - (count > before.count ? before.count : 0)
    const state = { count, roseAt: now() }
    seen.set(boxId, state)
    return state
  }
  return {
    count: (boxId) => observe(boxId).count,
    isRecent: (boxId, since) => {
      const { count, roseAt } = observe(boxId)
      return count > since && now() - roseAt < RECENT_MS
    },
    forget: (boxId) => void seen.delete(boxId),
    total: () => {
      for (const boxId of seen.keys()) observe(boxId)
      return total
    },
    watch: createWatch(observe),
  }
}

// The end of a command also reads the counter. The agent must record that end even if it cannot read the counter.
function readOr(known: number, read: () => number | null): number | null {
  try {
    return read()
  } catch {
    return known
  }
}

/** Polls all watched boxes with one timer, while there are any. */
function createWatch(observe: (boxId: string) => unknown): (boxId: string) => () => void {
  const watched = new Map<string, number>()
  let stop = (): void => undefined
  const pollAll = (): void => {
    for (const boxId of watched.keys()) observe(boxId)
  }
  return (boxId) => {
    if (watched.size === 0) stop = repeat(pollAll, { everyMs: POLL_MS, onError: () => undefined })
    watched.set(boxId, (watched.get(boxId) ?? 0) + 1)
    return () => {
      const left = (watched.get(boxId) ?? 0) - 1
      if (left > 0) watched.set(boxId, left)
      else watched.delete(boxId)
      if (watched.size === 0) stop()
    }
  }
}

const POLL_MS = 1_000
// Allows for a process that takes long to exit.
const RECENT_MS = 2_000
