/** Part of the history of one cell, without gaps and in the order of the cell. */
export interface CellPart<T> {
  cell: string
  items: readonly { number: number; at: number; value: T }[]
  /** True if the cell has more after these. */
  hasMore: boolean
}

/** An item of the merged history. */
export interface MergedItem<T> {
  cell: string
  number: number
  value: T
}

/** The first items of all parts together. */
export interface Merged<T> {
  items: MergedItem<T>[]
  /** Cells with omitted items, which come with a later page. */
  cut: ReadonlySet<string>
}

/**
 * Merges parts by time, and keeps the order of each cell even if its clock jumped. Omits items that may come after items that a cell has
 * not returned yet, and all above `limit`. `order` is 1 for oldest first, -1 for newest first. Takes at least one item unless all parts
 * are empty.
 */
export function mergeParts<T>(
  parts: readonly CellPart<T>[],
  { limit, order }: { limit: number; order: 1 | -1 },
): Merged<T> {
  const timed = parts.map((part) => ({ ...part, times: steadyTimes(part, order) }))
  const frontier = Math.min(
    ...timed.map(({ times, hasMore }) => (hasMore ? (times.at(-1) ?? Number.NEGATIVE_INFINITY) : INFINITE)),
  )
  const taken = timed
    .flatMap(({ cell, items, times }, rank) =>
      items.map(({ number, value }, i) => ({ cell, number, value, rank, time: times[i] ?? 0 })),
    )
    .filter(({ time }) => time <= frontier)
    // Monotonic times keep the order of each cell, because the sort is stable.
    .sort((a, b) => a.time - b.time || a.rank - b.rank)
    .slice(0, limit)
  const counts = new Map<string, number>()
  for (const { cell } of taken) counts.set(cell, (counts.get(cell) ?? 0) + 1)
  const cut = parts.filter(({ cell, items }) => (counts.get(cell) ?? 0) < items.length).map(({ cell }) => cell)
  return { items: taken.map(({ cell, number, value }) => ({ cell, number, value })), cut: new Set(cut) }
}

/** Returns a monotonic time for each item in the order of the cell: ms since the epoch, negative for newest first. */
function steadyTimes<T>({ items }: CellPart<T>, order: 1 | -1): number[] {
  let last = Number.NEGATIVE_INFINITY
  return items.map(({ at }) => {
    last = Math.max(last, at * order)
    return last
  })
}

/** Returns how many items to request from each of `cells` cells to fill a page of `limit`, up to a maximum. */
export function shareOf(limit: number, cells: number): number {
  return Math.min(limit, Math.max(Math.ceil(limit / cells), Math.floor(READ_TOGETHER / cells)))
}

/** Most items read for one page. Some may be omitted. */
const READ_TOGETHER = 2_000
const INFINITE = Number.POSITIVE_INFINITY
