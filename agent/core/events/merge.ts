/** What one cell told of its history: a part without gaps, in the order of the cell. */
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

/** The beginning of what the parts have together. */
export interface Merged<T> {
  items: MergedItem<T>[]
  /** Cells some of whose items were left out: they come with a later page. */
  cut: ReadonlySet<string>
}

/**
 * Merges parts by time, each in the order of its cell, whatever its clock did. Leaves out what may come after items that a cell has not told
 * yet, and all beyond `limit`. `order` 1: oldest first, -1: newest first. Takes something from the parts unless they are empty.
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
    // Steady times keep the order of each cell, as the sort is stable.
    .sort((a, b) => a.time - b.time || a.rank - b.rank)
    .slice(0, limit)
  const counts = new Map<string, number>()
  for (const { cell } of taken) counts.set(cell, (counts.get(cell) ?? 0) + 1)
  const cut = parts.filter(({ cell, items }) => (counts.get(cell) ?? 0) < items.length).map(({ cell }) => cell)
  return { items: taken.map(({ cell, number, value }) => ({ cell, number, value })), cut: new Set(cut) }
}

/** Returns a time of each item that only grows in the order of the cell: ms since the epoch, negative where newest come first. */
function steadyTimes<T>({ items }: CellPart<T>, order: 1 | -1): number[] {
  let last = Number.NEGATIVE_INFINITY
  return items.map(({ at }) => {
    last = Math.max(last, at * order)
    return last
  })
}

/** Returns how many items to ask each of `cells` cells for, so that a page of `limit` is full, unless it or they are many. */
export function shareOf(limit: number, cells: number): number {
  return Math.min(limit, Math.max(Math.ceil(limit / cells), Math.floor(READ_TOGETHER / cells)))
}

/** Items read for one page, of which some may be left out. */
const READ_TOGETHER = 2_000
const INFINITE = Number.POSITIVE_INFINITY
