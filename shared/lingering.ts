import { listOf, type Owners } from './fair-shares.ts'

/** Maximum number of ended commands that leave their streams open, in the agent and in each shim. */
export const LINGERING_MAX = 256

/** Streams that an ended command leaves open, for processes that it left running. */
export interface Lingerer {
  /** Resolves once it is closed. */
  readonly released: Promise<void>
  /** Closes it. */
  release(): void
}

/** Keeps the open streams of ended commands, in a bounded number that owners share. */
export interface Lingering {
  readonly size: number
  /** Keeps it until it is closed. Streams that are open a moment later count against their owners. */
  add(lingerer: Lingerer, owners: Owners): void
  releaseAll(): void
}

/**
 * Keeps at most `most` open. Beyond that, closes the oldest of the owner that has most. Among that owner's, picks by the other owner that
 * has most, and so on. Calls `onReleased` whenever one is closed.
 */
export function createLingering(most: number, onReleased: () => void = () => undefined): Lingering {
  // The oldest first.
  const kept = new Map<Lingerer, readonly string[]>()
  const counts = new Map<string, number>()
  const count = (owners: readonly string[], by: 1 | -1): void => {
    for (const owner of owners) {
      const left = (counts.get(owner) ?? 0) + by
      if (left > 0) counts.set(owner, left)
      else counts.delete(owner)
    }
  }
  const remove = (lingerer: Lingerer): void => {
    const owners = kept.get(lingerer)
    if (owners === undefined) return
    kept.delete(lingerer)
    count(owners, -1)
  }
  const releaseExcess = (): void => {
    while (kept.size > most) {
      const [next] = [...kept].map(([lingerer, owners]) => ({ lingerer, rank: rankOf(owners, counts) })).sort(byRank)
      if (next === undefined) return
      remove(next.lingerer)
      next.lingerer.release()
    }
  }
  return {
    get size() {
      return kept.size
    },
    add: (lingerer, owners) => {
      const list = listOf(owners)
      kept.set(lingerer, list)
      count(list, 1)
      void lingerer.released.then(() => {
        remove(lingerer)
        onReleased()
      })
      // Most are closed already, and are therefore gone by then.
      setImmediate(releaseExcess)
    },
    releaseAll: () => {
      for (const lingerer of kept.keys()) lingerer.release()
    },
  }
}

// Returns the counts of the owners of one, largest first.
function rankOf(owners: readonly string[], counts: ReadonlyMap<string, number>): number[] {
  return owners.map((owner) => counts.get(owner) ?? 0).sort((a, b) => b - a)
}

// Sorts entries of the owners that have most to the front. Keeps the order of equal entries.
function byRank({ rank: a }: { rank: number[] }, { rank: b }: { rank: number[] }): number {
  const first = a.findIndex((count, index) => count !== (b[index] ?? 0))
  return first < 0 ? 0 : (b[first] ?? 0) - (a[first] ?? 0)
}
