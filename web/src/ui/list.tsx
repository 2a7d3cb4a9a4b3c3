import type { ReactNode } from 'react'
import { Button } from './button.tsx'
import { FilterInput, FilterSelect } from './field.tsx'
import { sortNaturally } from './natural.ts'
import { Empty } from './page.tsx'
import { useSearchState } from './search-state.ts'

interface ListProps {
  /** The singular and plural word for its items. */
  words: readonly [one: string, several: string]
  /** The total number of items, and the number that match the filters. */
  total: number
  shown: number
  /** The fields that the text filter searches, in words. */
  findBy: string
  /** Its other filters, and their parts of the address in the unfiltered state. */
  filters?: ReactNode
  unfiltered?: Readonly<Record<string, string>>
  /** The next step if there is nothing at all. */
  nextStep?: ReactNode
  /** Replaces words and next step if the list is empty. */
  empty?: ReactNode
  /** Shows the remaining items. */
  children: ReactNode
}

/**
 * A list under its filters, which the address holds, with the text filter as `q`. Says how many items match. For an empty list it shows the
 * reason and the next step.
 */
export function List({ words: [one, several], total, shown, nextStep, empty, children, ...finding }: ListProps) {
  const { findBy, filters, unfiltered } = finding
  const { get, change } = useSearchState()
  if (total === 0 && empty !== undefined) return empty
  if (total === 0) return <Empty title={`No ${several} yet`}>{nextStep}</Empty>
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <FilterInput label={findBy} value={get('q')} onChange={(event) => change({ q: event.target.value })} />
        {filters}
        <span role="status" className="text-muted tabular-nums">
          {shown < total && `${shown} of `}
          {total} {total === 1 ? one : several}
        </span>
      </div>
      {shown > 0 ? (
        children
      ) : (
        <Empty title={`No ${several} match`}>
          <Button onClick={() => change({ q: '', ...unfiltered })}>Clear filters</Button>
        </Empty>
      )}
    </>
  )
}

interface ProjectFilterProps {
  projects: readonly string[]
  /** The project to show, or empty for all projects. */
  value: string
  change(project: string): void
}

/** The project of a list. */
export function ProjectFilter({ projects, value, change }: ProjectFilterProps) {
  return (
    <FilterSelect label="Project" value={value} onChange={(event) => change(event.target.value)}>
      <option value="">All projects</option>
      {sortNaturally(projects, (each) => each).map((each) => (
        <option key={each}>{each}</option>
      ))}
    </FilterSelect>
  )
}
