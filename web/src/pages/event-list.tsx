import type { BoxyardEvent } from '@boxyard/sdk'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useMemo } from 'react'
import { type EventFilter, eventHistoryQuery, isSelected, joinEvents, missingIn } from '../api/event-history.ts'
import { EVENTS_KEPT, useLive } from '../shell/live-provider.tsx'
import { MissingCells } from '../ui/missing-cells.tsx'
import { Ago } from '../ui/now.tsx'
import { Loading } from '../ui/page.tsx'
import { Problem } from '../ui/problem.tsx'

/** Returns what has happened, newest first, with what happens now on top. */
export function useEvents({ project, kind }: EventFilter) {
  const { events: live } = useLive()
  const history = useInfiniteQuery(eventHistoryQuery({ project, kind }))
  const { data, isFetching, refetch, dataUpdatedAt } = history
  const events = useMemo(() => {
    const selected = live.filter((event) => isSelected({ project, kind }, event))
    return joinEvents(selected, data?.pages.flatMap((page) => page.events) ?? [])
  }, [live, data, project, kind])
  // More has come than is kept: what is between it and what was read is missing.
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
    return isPending ? <Loading /> : <p className="text-muted">Quiet. What happens from now on is shown here.</p>
  }
  return (
    <>
      <MissingCells cells={missing} />
      <ol aria-label="Events" className="flex flex-col divide-y divide-line">
        {shown.map((event) => (
          <li key={event.id}>
            <EventRow event={event} />
          </li>
        ))}
      </ol>
    </>
  )
}

/** What happened, to what, when, and by whom. */
export function EventRow({ event }: { event: BoxyardEvent }) {
  return (
    <div className="flex flex-wrap items-baseline gap-x-3 gap-y-0.5 py-1.5">
      <code className="shrink-0 text-xs md:w-44">{event.type}</code>
      <span className="min-w-0 flex-1 break-all max-md:order-last max-md:basis-full">
        <ResourceLink event={event} />
      </span>
      <span className="ml-auto text-xs text-muted">
        <Ago time={event.ts} />
      </span>
    </div>
  )
}

const ALL: EventFilter = { project: '', kind: '' }

/** The resource of an event, with a link where it has a page. */
function ResourceLink({ event: { resource } }: { event: BoxyardEvent }) {
  const [, project = '', kind, name = ''] = /^\/v1\/projects\/([^/]+)\/(boxes|data)\/([^/]+)/.exec(resource ?? '') ?? []
  const text = (resource ?? '').replace(/^\/v1\/(projects\/)?/, '')
  if (kind === 'boxes') {
    return (
      <Link to="/boxes/$project/$name" params={{ project, name }} className="underline">
        {text}
      </Link>
    )
  }
  if (kind === 'data') {
    return (
      <Link to="/volumes/$project/$name" params={{ project, name }} className="underline">
        {text}
      </Link>
    )
  }
  return <span>{text}</span>
}
