import { Link } from '@tanstack/react-router'
import { useKnownProjects } from '../shell/project-field.tsx'
import { FilterSelect } from '../ui/field.tsx'
import { Page } from '../ui/page.tsx'
import { useSearchState } from '../ui/search-state.ts'
import { EventPages } from './event-list.tsx'

/** Current and past events, newest first, by kind and project. */
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
      <EventPages key={`${project} ${kind}`} filter={{ project, kind, box: '' }} />
    </Page>
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
