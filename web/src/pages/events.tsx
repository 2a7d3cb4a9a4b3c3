import { Link } from '@tanstack/react-router'
import { useKnownProjects } from '../shell/project-field.tsx'
import { Button } from '../ui/button.tsx'
import { FilterSelect } from '../ui/field.tsx'
import { MissingCells } from '../ui/missing-cells.tsx'
import { Empty, Loading, Page } from '../ui/page.tsx'
import { Problem } from '../ui/problem.tsx'
import { useSearchState } from '../ui/search-state.ts'
import { VirtualRows } from '../ui/virtual-rows.tsx'
import { EventRow, useEvents } from './event-list.tsx'

/** What happens now and what was before, newest first, by kind and project. */
export function EventsPage() {
  const { get, change } = useSearchState()
  const [kind, project] = [get('kind'), get('project')]
  const known = useKnownProjects()
  const projects = project === '' || known.includes(project) ? known : [...known, project]
  return (
    <Page title="Activity">
      <div className="flex flex-wrap items-center gap-3">
        <nav aria-label="Kinds" className="flex flex-wrap gap-1">
          {KINDS.map(([value, name]) => (
            <Link
              key={value}
              to="/activity"
              search={{ ...(value === '' ? {} : { kind: value }), ...(project === '' ? {} : { project }) }}
              aria-current={value === kind ? 'true' : undefined}
              className={`rounded-md px-3 py-1 ${value === kind ? 'bg-accent-soft font-medium' : 'hover:bg-raised'}`}
            >
              {name}
            </Link>
          ))}
        </nav>
        <FilterSelect label="Project" value={project} onChange={(event) => change({ project: event.target.value })}>
          <option value="">All projects</option>
          {projects.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </FilterSelect>
      </div>
      <AllEvents key={`${project} ${kind}`} project={project} kind={kind} />
    </Page>
  )
}

function AllEvents({ project, kind }: { project: string; kind: string }) {
  const { events, missing, isPending, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useEvents({
    project,
    kind,
  })
  if (error && events.length === 0) return <Problem error={error} retry={() => void refetch()} />
  if (events.length === 0) {
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

const KINDS = [
  ['', 'All'],
  ['box', 'Boxes'],
  ['data', 'Volumes'],
  ['snapshot', 'Snapshots'],
  ['backup', 'Backups'],
  ['base', 'Bases'],
  ['service', 'Services'],
  ['quota', 'Quotas'],
  ['token', 'Tokens'],
] as const
