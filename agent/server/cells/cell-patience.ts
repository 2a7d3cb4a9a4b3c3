/** Timeouts for other cells. A cell that timed out a moment ago gets little time, so that a lost node slows down no other request. */
export interface CellPatience {
  /** Returns the milliseconds that a cell has to begin or continue its answer. */
  of(cell: string): number
  /** Notes that a cell has answered. */
  noteHeard(cell: string): void
  /** Notes that a cell has not answered a request of `since`. If it has answered others since then, it may only be slow for one caller. */
  noteSilence(cell: string, since: number): void
  /** The time, in milliseconds of a clock that never goes back. */
  now(): number
}

/** Creates the circuit breaker for all cells. `now` is in milliseconds of a clock that never goes back. */
export function createCellPatience({ now }: { now(): number }): CellPatience {
  const silentSince = new Map<string, number>()
  const heardAt = new Map<string, number>()
  return {
    of: (cell) => {
      const since = silentSince.get(cell)
      if (since === undefined) return FULL_MS
      if (now() - since < SILENT_MS) return BRIEF_MS
      // One request tests whether the cell is only slow. Concurrent requests do not wait.
      silentSince.set(cell, now())
      return FULL_MS
    },
    noteHeard: (cell) => {
      heardAt.set(cell, now())
      silentSince.delete(cell)
    },
    noteSilence: (cell, since) => {
      const isHeard = (heardAt.get(cell) ?? Number.NEGATIVE_INFINITY) > since
      if (!isHeard && !silentSince.has(cell)) silentSince.set(cell, now())
    },
    now,
  }
}

const FULL_MS = 5_000
const BRIEF_MS = 250
const SILENT_MS = 20_000
