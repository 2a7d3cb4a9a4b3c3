import type { AnswerOf, BoxyardEvent } from '@boxyard/sdk'
import { infiniteQueryOptions } from '@tanstack/react-query'
import { api } from './client.ts'
import { ALL_PROJECTS } from './queries.ts'

/** Events before a time, newest first. */
export interface HistoryPage {
  events: BoxyardEvent[]
  /** Where the previous page ends, in ms since the epoch, or null if nothing precedes it. */
  before: number | null
  /** Cells of a fleet that did not answer. Their events are missing. */
  missing: string[]
}

/** Which events to show. Empty for all. */
export interface EventFilter {
  project: string
  /** The first part of a type, such as `box`. */
  kind: string
  /** A box of the project, with its snapshots, services and volumes. */
  box: string
}

/** Past events, newest first, a page at a time. */
export const eventHistoryQuery = (filter: EventFilter) =>
  infiniteQueryOptions({
    queryKey: ['events', filter.project, filter.kind, filter.box],
    queryFn: ({ pageParam: before, signal }) => {
      const path = { project: filter.project || ALL_PROJECTS }
      const type = typesOf(filter)
      const read: EventReader = (since) =>
        api().call('listEvents', { path, query: { since, max_results: PAGE_EVENTS, ...type }, signal })
      return readBefore(read, before, { now: Date.now(), isShown: (event) => isSelected(filter, event) })
    },
    initialPageParam: null as number | null,
    getNextPageParam: ({ before }) => before,
    // No event reports that a cell is back.
    refetchInterval: ({ state }) => missingIn(state.data?.pages ?? []).length > 0 && MISSING_MS,
  })

/** Returns the cells missing in any of the pages, each once. */
export function missingIn(pages: readonly HistoryPage[]): string[] {
  return [...new Set(pages.flatMap(({ missing }) => missing))].sort()
}

/** Reads events from a cursor or a time on, oldest first. */
export type EventReader = (
  since: string,
) => Promise<Pick<AnswerOf<'listEvents'>, 'events' | 'has_more' | 'next_cursor' | 'missing_cells'>>

/**
 * Reads the events before a time, or all until now if it is null. The service lists events from a time on, oldest first. This reads spans
 * back from the end: longer ones if little happened, shorter ones if much did.
 */
export async function readBefore(
  read: EventReader,
  before: number | null,
  { now, isShown = () => true }: { now: number; isShown?(event: BoxyardEvent): boolean },
): Promise<HistoryPage> {
  const found: BoxyardEvent[] = []
  const missing = new Set<string>()
  let reads = 0
  const readNoting: EventReader = async (since) => {
    reads++
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
    found.push(...span.toReversed().filter(isShown))
    if (now - start > KEPT_MS) return { events: found, before: null, missing: [...missing] }
    end = start
    // A busy project may have few matching events.
    if (reads >= READS_MAX) break
    spanMs *= 16
  }
  return { events: found, before: end, missing: [...missing] }
}

/** Returns the events of a span, oldest first. Returns null if they are too many, unless the caller wants all. */
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

/** Returns the live events with the loaded ones, newest first, each once. */
export function joinEvents(live: readonly BoxyardEvent[], before: readonly BoxyardEvent[]): BoxyardEvent[] {
  const known = new Set(before.map(({ id }) => id))
  return [...live.filter(({ id }) => !known.has(id)), ...before]
}

/** Returns whether a filter selects an event. */
export function isSelected(
  { project, kind, box }: EventFilter,
  { type, resource, data, ...event }: Pick<BoxyardEvent, 'project' | 'type' | 'resource' | 'data'>,
): boolean {
  if (project !== '' && event.project !== project) return false
  if (kind !== '' && !type.startsWith(`${kind}.`)) return false
  const path = `/v1/projects/${project}/boxes/${box}`
  return box === '' || resource === path || resource.startsWith(`${path}/`) || isOfVolumeIn(box, type, data)
}

function isOfVolumeIn(box: string, type: string, data: BoxyardEvent['data']): boolean {
  return ATTACHMENTS.includes(type) && data['box'] === box
}

function typesOf({ kind, box }: EventFilter): { type?: string[] } {
  if (kind !== '') return { type: [`${kind}.*`] }
  return box === '' ? {} : { type: ['box.*', 'snapshot.*', 'service.*', ...ATTACHMENTS] }
}

const ATTACHMENTS = ['data.attached', 'data.detached']
const MISSING_MS = 10_000
/** Reads for one page, after which it may have fewer events than `ENOUGH_EVENTS`. */
const READS_MAX = 40
const PAGE_EVENTS = 1000
const ENOUGH_EVENTS = 50
const MANY_EVENTS = 3_000
const FIRST_SPAN_MS = 15 * 60_000
const SHORTEST_SPAN_MS = 1_000
/** Longer than the service keeps events. */
const KEPT_MS = 30 * 86_400_000
