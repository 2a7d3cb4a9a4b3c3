import type { BoxyardEvent } from '@boxyard/sdk'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Activity, Archive, Box, Camera, Cog, Database, Gauge, KeyRound, Layers } from 'lucide-react'
import { useEffect, useMemo } from 'react'
import { type EventFilter, eventHistoryQuery, isSelected, joinEvents, missingIn } from '../api/event-history.ts'
import { EVENTS_KEPT, useLive } from '../shell/live-provider.tsx'
import { Button } from '../ui/button.tsx'
import { MissingCells } from '../ui/missing-cells.tsx'
import { Ago } from '../ui/now.tsx'
import { Empty, Loading } from '../ui/page.tsx'
import { Problem } from '../ui/problem.tsx'
import { VirtualRows } from '../ui/virtual-rows.tsx'
import { eventSentence, withoutSteps } from './event-words.ts'

/** Returns the past events, newest first, with live ones on top. */
export function useEvents({ project, kind, box }: EventFilter) {
  const { events: live } = useLive()
  const filter = useMemo(() => ({ project, kind, box }), [project, kind, box])
  const history = useInfiniteQuery(eventHistoryQuery(filter))
  const { data, isFetching, refetch, dataUpdatedAt } = history
  const events = useMemo(() => {
    const selected = live.filter((event) => isSelected(filter, event))
    return withoutSteps(joinEvents(selected, data?.pages.flatMap((page) => page.events) ?? []))
  }, [live, data, filter])
  // More events have arrived than the page keeps, so events between them and the loaded ones are missing.
  const oldest = live.length < EVENTS_KEPT ? undefined : live.at(-1)
  const isApart = oldest !== undefined && Date.parse(oldest.ts) > dataUpdatedAt
  useEffect(() => {
    if (isApart && !isFetching && data) void refetch()
  }, [isApart, isFetching, data, refetch])
  return { ...history, events, missing: missingIn(data?.pages ?? []) }
}

/** The last events of all projects. */
export function LastEvents({ most }: { most: number }) {
  const { events, missing, isPending, error, refetch } = useEvents(ALL)
  const shown = events.slice(0, most)
  if (shown.length === 0) {
    if (error) return <Problem error={error} retry={() => void refetch()} />
    return isPending ? <Loading /> : <p className="text-muted">No activity yet.</p>
  }
  return (
    <>
      <MissingCells cells={missing} />
      <ol aria-label="Activity" className="flex flex-col divide-y divide-line">
        {shown.map((event) => (
          <li key={event.id}>
            <EventRow event={event} />
          </li>
        ))}
      </ol>
    </>
  )
}

/** Lists events, newest first, with earlier ones on request. */
export function EventPages({ filter }: { filter: EventFilter }) {
  const { events, missing, isPending, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } =
    useEvents(filter)
  if (error && events.length === 0) return <Problem error={error} retry={() => void refetch()} />
  if (events.length === 0 && !hasNextPage) {
    if (isPending) return <Loading />
    return (
      <>
        <MissingCells cells={missing} />
        <Empty title="No activity">New activity appears here. Boxyard keeps it for 7 days.</Empty>
      </>
    )
  }
  return (
    <>
      <MissingCells cells={missing} />
      <VirtualRows label="Activity, newest first" items={events} rowPx={36} keyOf={({ id }) => id}>
        {(event) => (
          <div className="px-3">
            <EventRow event={event} />
          </div>
        )}
      </VirtualRows>
      {events.length === 0 && <p className="text-muted">Nothing found so far.</p>}
      {error && <Problem error={error} retry={() => void fetchNextPage()} />}
      {hasNextPage ? (
        <Button disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          {isFetchingNextPage ? 'Loading…' : 'Show earlier'}
        </Button>
      ) : (
        <p className="text-muted">No earlier activity.</p>
      )}
    </>
  )
}

/** Shows an event as a sentence with its time. */
export function EventRow({ event }: { event: BoxyardEvent }) {
  const { actor, verb, thing, rest } = eventSentence(event)
  const Icon = ICONS[event.type.split('.')[0] ?? ''] ?? Activity
  return (
    <div className="flex items-baseline gap-x-3 py-1.5" title={event.type}>
      <Icon aria-hidden className="size-4 shrink-0 self-center text-muted" />
      <span className="min-w-0 flex-1 wrap-anywhere">
        <span className="font-medium">{actor}</span> {verb} <ThingLink event={event}>{thing}</ThingLink>
        {rest !== '' && <span className="text-muted"> {rest}</span>}
      </span>
      <span className="text-xs whitespace-nowrap text-muted">
        <Ago time={event.ts} />
      </span>
    </div>
  )
}

const ALL: EventFilter = { project: '', kind: '', box: '' }
const ICONS: Readonly<Record<string, typeof Activity>> = {
  box: Box,
  data: Database,
  snapshot: Camera,
  backup: Archive,
  base: Layers,
  service: Cog,
  quota: Gauge,
  token: KeyRound,
}

/** Links to the resource of an event if it has a page. */
function ThingLink({ event: { type, resource }, children }: { event: BoxyardEvent; children: string }) {
  const [, project = '', kind, name = ''] = /^\/v1\/projects\/([^/]+)\/(boxes|data)\/([^/]+)/.exec(resource) ?? []
  if (kind === undefined || (type.endsWith('.deleted') && /^(box|data)\./.test(type)))
    return <span className="font-medium">{children}</span>
  return (
    <Link
      to={kind === 'boxes' ? '/boxes/$project/$name' : '/volumes/$project/$name'}
      params={{ project, name }}
      preload={false}
      className="font-medium hover:underline"
    >
      {children}
    </Link>
  )
}
