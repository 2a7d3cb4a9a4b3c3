import type { BoxyardEvent } from '@boxyard/sdk'
import { Link } from '@tanstack/react-router'
import { useLive } from '../shell/live-provider.tsx'
import { Ago } from '../ui/now.tsx'

/** The events since the page was opened, newest first. */
export function EventList({ most, select = () => true }: { most: number; select?: (event: BoxyardEvent) => boolean }) {
  const { events } = useLive()
  const shown = events.filter(select).slice(0, most)
  if (shown.length === 0) return <p className="text-muted">Quiet. What happens from now on is shown here.</p>
  return (
    <ol aria-label="Events" className="flex flex-col divide-y divide-line">
      {shown.map((event) => (
        <li key={event.id} className="flex flex-wrap items-baseline gap-x-3 gap-y-0.5 py-1.5">
          <code className="w-44 shrink-0 text-xs">{event.type}</code>
          <span className="min-w-0 flex-1 break-all">
            <ResourceLink event={event} />
          </span>
          <span className="text-xs text-muted">
            <Ago time={event.ts} />
          </span>
        </li>
      ))}
    </ol>
  )
}

/** The resource of an event, with a link where it has a page. */
export function ResourceLink({ event: { resource } }: { event: BoxyardEvent }) {
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
