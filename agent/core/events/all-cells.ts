import { ServiceError } from '../../../shared/errors.ts'
import type { CellHistory, EventScan, OtherHistories } from '../../ports/store/cell-history.ts'
import type { EventPage, EventRecord, EventScope } from '../../ports/store/events.ts'
import { type MergedItem, mergeParts, shareOf } from './merge.ts'
import type { DecodedCursor, EventPosition } from './positions.ts'
import { cursorExpired } from './scans.ts'

/** The histories of this cell and of all others. Some may be unreachable. */
export interface Histories {
  own: CellHistory
  others: Pick<OtherHistories, 'cells'>
}

/** A read of the events of all cells. */
export type FleetScan = Omit<EventScan, 'after'> & { after: EventPosition }

/** A page of events of all cells. */
export interface FleetPage {
  events: MergedItem<EventRecord>[]
  /** Position after the scanned events. */
  through: EventPosition
  hasMore: boolean
  /** Unreachable cells, in order. Their events come once they are reachable. */
  missing: readonly string[]
}

/** Returns the answer of a cell, or null if it cannot be reached. */
export async function unlessAway<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'agent_unavailable') return null
    throw error
  }
}

/**
 * Reads the events of all cells once. Keeps the order of each cell, and merges the cells by time as far as they have answered.
 * @throws ServiceError `cursor_expired` if events of any cell after the position were pruned
 */
export async function readAllCells({ own, others }: Histories, scan: FleetScan): Promise<FleetPage> {
  const { after } = scan
  const cells = [own, ...others.cells()]
  const limit = shareOf(scan.limit, cells.length)
  const read = async (history: CellHistory): Promise<EventPage> =>
    history.readEvents({ ...scan, after: await startOf(history, scan), limit })
  const answers = await Promise.all(
    cells.map(async (history) => ({ cell: history.cell, page: await unlessAway(read(history)) })),
  )
  const parts = answers.flatMap(({ cell, page }) => {
    if (page === null) return []
    const items = page.events.map(({ number, record }) => ({ number, at: record.at, value: record }))
    return [{ cell, items, hasMore: page.hasMore, through: page.through }]
  })
  const { items, cut } = mergeParts(parts, { limit: scan.limit, order: 1 })
  const reached = new Map(after.cells)
  for (const { cell, number } of items) reached.set(cell, number)
  for (const { cell, through } of parts) if (!cut.has(cell)) reached.set(cell, through)
  return {
    events: items,
    through: { ...after, cells: reached },
    hasMore: cut.size > 0 || parts.some((part) => part.hasMore),
    missing: missingOf(answers, after),
  }
}

/** Names cells that did not answer, and cells of the position that the directory lacks, since the directory may be incomplete. */
function missingOf(answers: readonly { cell: string; page: EventPage | null }[], after: EventPosition): string[] {
  const away = answers.filter(({ page }) => page === null).map(({ cell }) => cell)
  const known = new Set(answers.map(({ cell }) => cell))
  return [...away, ...[...after.cells.keys()].filter((cell) => !known.has(cell))].sort()
}

async function startOf(history: CellHistory, { after, scope }: FleetScan): Promise<number> {
  const known = after.cells.get(history.cell)
  return known ?? (await history.bounds({ scope, since: after.since })).begin
}

/** Position before all kept events. */
export const AT_OLDEST: EventPosition = { cells: new Map(), since: null }

/** Returns the position after all events. Unreachable cells begin with events from shortly before `now`. */
export async function positionNow({ own, others }: Histories, scope: EventScope, now: number): Promise<EventPosition> {
  const ends = await Promise.all(
    [own, ...others.cells()].map(async (history) => {
      const bounds = await unlessAway(history.bounds({ scope, since: null }))
      return bounds === null ? [] : [[history.cell, bounds.newest] as const]
    }),
  )
  return { cells: new Map(ends.flat()), since: now - CLOCKS_MS }
}

/**
 * Returns the position of a cursor. A cursor from before the fleet has one number. It belongs to the one cell that had such a number
 * then, and the other cells begin with their oldest event.
 * @throws ServiceError `cursor_expired` if events after it were pruned, or if its cell is ambiguous, `agent_unavailable` while its cell
 * cannot be determined
 */
export async function positionOf(
  histories: Histories,
  decoded: DecodedCursor,
  scope: EventScope,
): Promise<EventPosition> {
  if ('alone' in decoded) return positionAlone(histories, decoded.alone, scope)
  const { own, others } = histories
  await Promise.all(
    [own, ...others.cells()].map(async (history) => {
      const number = decoded.cells.get(history.cell)
      if (number === undefined) return
      const bounds = await unlessAway(history.bounds({ scope, since: null }))
      if (bounds !== null && (number < bounds.oldest - 1 || number > bounds.newest)) throw cursorExpired()
    }),
  )
  return decoded
}

async function positionAlone({ own, others }: Histories, number: number, scope: EventScope): Promise<EventPosition> {
  const all = await Promise.all(
    [own, ...others.cells()].map(async (history) => ({
      cell: history.cell,
      bounds: await history.bounds({ scope, since: null }),
    })),
  )
  const [found, ...more] = all.filter(({ bounds }) => bounds.aloneThrough > 0 && number <= bounds.aloneThrough)
  if (found === undefined || more.length > 0 || number < found.bounds.oldest - 1) throw cursorExpired()
  return { cells: new Map([[found.cell, number]]), since: null }
}

/** Maximum difference between the clocks of cells, the same as the channel tolerates. */
const CLOCKS_MS = 30_000
