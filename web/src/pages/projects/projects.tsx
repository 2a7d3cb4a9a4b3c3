import { useSuspenseQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useDeferredValue, useMemo } from 'react'
import { projectsQuery } from '../../api/queries.ts'
import type { Project } from '../../api/records.ts'
import { useRights } from '../../shell/rights.ts'
import { Button } from '../../ui/button.tsx'
import { List } from '../../ui/list.tsx'
import { type Column, LongTable } from '../../ui/long-table.tsx'
import { Page } from '../../ui/page.tsx'
import { useSearchState } from '../../ui/search-state.ts'
import { countWords } from '../../ui/words.ts'
import { AMOUNTS, amountText, fullestOf, quotaWords, selectProjects } from './project-rows.ts'
import { SetQuota } from './set-quota.tsx'

/** The projects with resources: the usage of each, and its quota, which an administrator sets. */
export function ProjectsPage() {
  const { data: projects } = useSuspenseQuery(projectsQuery)
  const { get, change } = useSearchState()
  const { isAdmin, isOfAll } = useRights()
  const text = useDeferredValue(get('q'))
  const sort = get('sort')
  const shown = useMemo(() => selectProjects(projects, text, sort), [projects, text, sort])
  const maySet = isAdmin && isOfAll
  const columns = useMemo(
    () => (maySet ? [...COLUMNS, quotaColumn((quota) => change({ quota }))] : COLUMNS),
    [maySet, change],
  )
  return (
    <Page title="Projects" actions={maySet && <Button onClick={() => change({ quota: '+' })}>Set quota</Button>}>
      <p className="text-muted">
        CPU and memory count running boxes. Storage counts the size of all boxes and volumes.
      </p>
      <List
        words={['project', 'projects']}
        total={projects.length}
        shown={shown.length}
        findBy="Name"
        nextStep="A project exists once it has a box or volume. Create one."
      >
        <LongTable
          label="Projects"
          grid={
            maySet
              ? 'grid-cols-[1fr_5.5rem] md:grid-cols-[1.2fr_1fr_1fr_1.2fr_1.2fr_5rem_5.5rem]'
              : 'grid-cols-[1fr] md:grid-cols-[1.2fr_1fr_1fr_1.2fr_1.2fr_5rem]'
          }
          columns={columns}
          items={shown}
          keyOf={({ project }) => project}
          sorting={{ by: sort || 'name', change: (by) => change({ sort: by === 'name' ? '' : by }) }}
        />
      </List>
      {maySet && (
        <SetQuota name={get('quota')} choose={(quota) => change({ quota })} close={() => change({ quota: '' })} />
      )}
    </Page>
  )
}

/** Usage of one resource of a project, with a bar if there is a quota. */
function Amount({ used, allowed, unit, name }: { used: number; allowed: number | null; unit: string; name: string }) {
  const words = amountText(used, allowed, unit)
  if (allowed === null) return <span className="tabular-nums">{words}</span>
  const part = allowed === 0 ? (used > 0 ? 1 : 0) : Math.min(1, used / allowed)
  return (
    <span className="block">
      <span className="tabular-nums">{words}</span>
      {allowed > 0 && used >= allowed && <span className="ml-1 text-bad">{used > allowed ? 'over' : 'all used'}</span>}
      <span
        role="meter"
        aria-label={name}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(100 * part)}
        aria-valuetext={words}
        className="mt-1 block h-1.5 overflow-hidden rounded-full bg-raised"
      >
        <span className={`block h-full ${part > 0.9 ? 'bg-bad' : 'bg-accent'}`} style={{ width: `${100 * part}%` }} />
      </span>
    </span>
  )
}

function quotaColumn(ask: (project: string) => void): Column<Project> {
  return {
    name: '',
    of: ({ project }) => (
      <span className="flex justify-end">
        <Button aria-label={`Quota of ${project}`} onClick={() => ask(project)}>
          Quota
        </Button>
      </span>
    ),
  }
}

const COLUMNS: readonly Column<Project>[] = [
  {
    name: 'Name',
    sort: 'name',
    of: (project) => {
      const full = fullestOf(project)
      return (
        <>
          <Link
            to="/boxes"
            search={{ project: project.project }}
            preload={false}
            className="font-medium break-all hover:underline"
          >
            {project.project}
          </Link>
          {full !== null && full > 0.9 && <span className="block text-xs text-bad">{quotaWords(full)}</span>}
          <span className="block text-xs text-muted md:hidden">
            {AMOUNTS.map(({ key, name, unit }) => (
              <span key={key} className="block">
                {name}: {amountText(project.used[key], project.allowed[key], unit)}
              </span>
            ))}
            <span className="block">Volumes: {project.volumes}</span>
          </span>
        </>
      )
    },
  },
  ...AMOUNTS.map(
    ({ key, name, unit }): Column<Project> => ({
      name,
      sort: `-${key}`,
      from: 'md',
      of: ({ project, used, allowed, boxes }) => (
        <>
          <Amount used={used[key]} allowed={allowed[key]} unit={unit} name={`${name} of ${project}`} />
          {key === 'boxes' && used.boxes > 0 && (
            <span className="block text-xs text-muted">
              {[
                `${boxes.running} running`,
                ...(boxes.stopped > 0 ? [`${boxes.stopped} stopped`] : []),
                ...(boxes.other > 0 ? [`${boxes.other} pending or unknown`] : []),
              ].join(', ')}
            </span>
          )}
        </>
      ),
    }),
  ),
  {
    name: 'Volumes',
    from: 'md',
    isNumber: true,
    of: ({ project, volumes }) => (
      <Link
        to="/volumes"
        search={{ project }}
        preload={false}
        aria-label={`${countWords(volumes, 'volume')} of ${project}`}
        className="inline-block min-h-6 min-w-6 hover:underline"
      >
        {volumes}
      </Link>
    ),
  },
]
