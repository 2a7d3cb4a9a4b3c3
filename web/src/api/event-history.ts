import type { AnswerOf, BoxyardEvent } from '@boxyard/sdk'
import { infiniteQueryOptions } from '@tanstack/react-query'
import { api } from './client.ts'
import { ALL_PROJECTS } from './queries.ts'

/** Events before a time, newest first. */
export interface HistoryPage {
  events: BoxyardEvent[]
  /** Where the page before it ends, in ms since the epoch; null: there is nothing before. */
  before: number | null
  /** Cells of a fleet that did not answer: what happened there is left out. */
  missing: string[]
}

/** Which events are shown; empty: all. */
export interface EventFilter {
  project: string
  /** The first part of a type, such as `box`. */
  kind: string
}

/** What has happened, newest first, some at a time. */
export const eventHistoryQuery = ({ project, kind }: EventFilter) =>
  infiniteQueryOptions({
    queryKey: ['events', project, kind],
    queryFn: ({ pageParam: before, signal }) => {
      const path = { project: project || ALL_PROJECTS }
      const type = kind === '' ? {} : { type: [`${kind}.*`] }
      const read: EventReader = (since) =>
        api().call('listEvents', { path, query: { since, max_results: PAGE_EVENTS, ...type }, signal })
      return readBefore(read, before, Date.now())
    },
    initialPageParam: null as number | null,
    getNextPageParam: ({ before }) => before,
    // No event tells that a cell is back.
    refetchInterval: ({ state }) => missingIn(state.data?.pages ?? []).length > 0 && MISSING_MS,
  })

/** Returns the cells that any of the pages lacks, each once. */
export function missingIn(pages: readonly HistoryPage[]): string[] {
  return [...new Set(pages.flatMap(({ missing }) => missing))].sort()
}

/** Reads events from a cursor or a time on, oldest first. */
export type EventReader = (
  since: string,
) => Promise<Pick<AnswerOf<'listEvents'>, 'events' | 'has_more' | 'next_cursor' | 'missing_cells'>>

/**
 * Reads the events before a time, null: all until now. The service tells them oldest first from a time on: spans are read back from the
 * end, longer ones where little happened, shorter ones where much did.
 */
export async function readBefore(read: EventReader, before: number | null, now: number): Promise<HistoryPage> {
  const found: BoxyardEvent[] = []
  const missing = new Set<string>()
  const readNoting: EventReader = async (since) => {
    const page = await read(since)
    for (const cell of page.missing_cells ?? []) missing.add(cell)
    return page
  }
  let end = before
  for (let spanMs = FIRST_SPAN_MS; found.length < ENOUGH_EVENTS; ) {
    const start = (end ?? now) - spanMs
    const span = await readSpan(readNoting, { start, end, isWhole: spanMs < SHORTEST_SPAN_MS })
    if (span === null) {
      spanMs /= 4
      continue
    }
    found.push(...span.toReversed())
    if (now - start > KEPT_MS) return { events: found, before: null, missing: [...missing] }
    end = start
    spanMs *= 16
  }
  return { events: found, before: end, missing: [...missing] }
}

/** Returns the events of a span, oldest first; null if they are too many, unless all are asked for. */
async function readSpan(
  read: EventReader,
  { start, end, isWhole }: { start: number; end: number | null; isWhole: boolean },
): Promise<BoxyardEvent[] | null> {
  const events: BoxyardEvent[] = []
  for (let since = new Date(start).toISOString(); ; ) {
    const page = await read(since)
    for (const event of page.events) {
      if (end !== null && Date.parse(event.ts) >= end) return events
      events.push(event)
    }
    if (!page.has_more) return events
    if (events.length > MANY_EVENTS && !isWhole) return null
    since = page.next_cursor
  }
}

/** Returns what has come live with what was before, newest first, each once. */
export function joinEvents(live: readonly BoxyardEvent[], before: readonly BoxyardEvent[]): BoxyardEvent[] {
  const known = new Set(before.map(({ id }) => id))
  return [...live.filter(({ id }) => !known.has(id)), ...before]
}

/** Returns whether a filter selects an event. */
export function isSelected({ project, kind }: EventFilter, event: Pick<BoxyardEvent, 'project' | 'type'>): boolean {
  return (project === '' || event.project === project) && (kind === '' || event.type.startsWith(`${kind}.`))
}

const MISSING_MS = 10_000
const PAGE_EVENTS = 1000
const ENOUGH_EVENTS = 50
const MANY_EVENTS = 3_000
const FIRST_SPAN_MS = 15 * 60_000
const SHORTEST_SPAN_MS = 1_000
/** Longer than the service keeps events. */
const KEPT_MS = 30 * 86_400_000
