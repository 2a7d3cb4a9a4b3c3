import { useQuery } from '@tanstack/react-query'
import { Link, useRouterState } from '@tanstack/react-router'
import { ChevronsUpDown } from 'lucide-react'
import { useEffect, useId, useState } from 'react'
import { projectsQuery } from '../api/queries.ts'
import { sortNaturally } from '../ui/natural.ts'
import { usePageSearch } from './page-search.ts'
import { rememberProject } from './project-field.tsx'
import { useRights } from './rights.ts'

/** Switches all lists to one project, or to all. */
export function ProjectSwitcher({ onSwitch }: { onSwitch(): void }) {
  const pathname = useRouterState({ select: ({ location }) => location.pathname })
  const shown = useShownProject()
  const names = useProjectNames(shown)
  const [isOpen, setOpen] = useState(false)
  const id = useId()
  if (names.length < 2) return null
  const choose = (project: string): void => {
    if (project !== '') rememberProject(project)
    chosen = project
    setOpen(false)
    onSwitch()
  }
  return (
    <div className="mb-2">
      <button
        type="button"
        aria-expanded={isOpen}
        aria-controls={id}
        className="flex w-full items-center gap-2 rounded-md border border-line px-2.5 py-1.5 text-left font-medium hover:bg-raised"
        onClick={() => setOpen(!isOpen)}
      >
        <span className="sr-only">Switch project:</span>
        <span className="min-w-0 flex-1 truncate">{shown || ALL}</span>
        <ChevronsUpDown aria-hidden className="size-4 shrink-0 text-muted" />
      </button>
      <ul
        id={id}
        aria-label="Projects"
        hidden={!isOpen}
        className="mt-1 max-h-56 overflow-y-auto rounded-md border border-line p-1"
      >
        {['', ...names].map((name) => (
          <li key={name}>
            <Link
              to={hasProjectFilter(pathname) ? pathname : '/boxes'}
              search={name === '' ? {} : { project: name }}
              preload={false}
              activeOptions={{ exact: true }}
              aria-current={name === shown ? 'true' : undefined}
              className={`block truncate rounded px-2 py-1 hover:bg-raised ${name === shown ? 'bg-accent-soft' : ''}`}
              onClick={() => choose(name)}
            >
              {name || ALL}
            </Link>
          </li>
        ))}
      </ul>
    </div>
  )
}

let chosen = ''

/** Returns the project of the lists: the filter of the open list, or the last one on other pages. Empty for all. */
export function useShownProject(): string {
  const pathname = useRouterState({ select: ({ location }) => location.pathname })
  const { project = '' } = usePageSearch<{ project: string }>()
  const shown = hasProjectFilter(pathname) ? project : chosen
  useEffect(() => {
    chosen = shown
  }, [shown])
  return shown
}

/** Returns true for the path of a page that lists things of one project or of all. */
export function hasProjectFilter(path: string): boolean {
  return FILTERED.has(path)
}

/** Returns the projects that the session can read, and the shown one. */
function useProjectNames(shown: string): string[] {
  const { projects: own, isOfAll, canRead } = useRights()
  const { data = [] } = useQuery({ ...projectsQuery, enabled: isOfAll && canRead })
  const known = isOfAll ? data.map(({ project }) => project) : own
  const names = [...new Set([...known, ...(shown === '' ? [] : [shown])])]
  return canRead ? sortNaturally(names, (name) => name) : []
}

const ALL = 'All projects'
const FILTERED: ReadonlySet<string> = new Set(['/boxes', '/volumes', '/bases', '/activity'])
