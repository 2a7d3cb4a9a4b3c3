import { useSuspenseQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useDeferredValue, useMemo, useState } from 'react'
import { boxesQuery } from '../../api/queries.ts'
import { usePageSearch } from '../../shell/page-search.ts'
import { useRights } from '../../shell/rights.ts'
import { Button } from '../../ui/button.tsx'
import { FilterInput, FilterSelect } from '../../ui/field.tsx'
import { Empty, Page } from '../../ui/page.tsx'
import { BoxTable } from './box-table.tsx'
import { BulkActions } from './bulk-actions.tsx'
import { CreateBox } from './create-box.tsx'
import { nodesOf, SORTS, selectBoxes } from './select.ts'

type BoxesSearch = {
  q?: string
  project?: string
  status?: string
  node?: string
  sort?: string
  create?: string
}

/** All boxes: found, sorted, chosen, stopped and deleted. */
export function BoxesPage() {
  const { data: boxes } = useSuspenseQuery(boxesQuery)
  const search: BoxesSearch = usePageSearch<Required<BoxesSearch>>()
  const navigate = useNavigate()
  const { canWrite } = useRights()
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const text = useDeferredValue(search.q ?? '')
  const { project = '', status = '', node = '', sort = 'name' } = search
  const shown = useMemo(
    () => selectBoxes(boxes, { text, project, status, node, sort }),
    [boxes, text, project, status, node, sort],
  )
  const change = (part: BoxesSearch): void => {
    const next = Object.fromEntries(Object.entries({ ...search, ...part }).filter(([, value]) => value !== ''))
    void navigate({ to: '/boxes', search: next, replace: true })
  }
  const projects = useMemo(() => [...new Set(boxes.map((box) => box.project))], [boxes])
  const nodes = useMemo(() => nodesOf(boxes), [boxes])
  const ofShown = shown.filter(({ id }) => chosen.has(id))
  return (
    <Page
      title="Boxes"
      actions={
        canWrite && (
          <Button kind="primary" onClick={() => change({ create: 'box' })}>
            Create a box
          </Button>
        )
      }
    >
      <Filters
        search={search}
        change={change}
        projects={projects}
        nodes={nodes}
        count={shown.length}
        total={boxes.length}
      />
      {ofShown.length > 0 && <BulkActions boxes={ofShown} clear={() => setChosen(new Set())} />}
      {shown.length > 0 ? (
        <BoxTable boxes={shown} hasNodes={nodes.length > 1} chosen={chosen} setChosen={canWrite ? setChosen : null} />
      ) : boxes.length > 0 ? (
        <Empty title="No box is like that">
          <Button onClick={() => void navigate({ to: '/boxes', search: {} })}>Show all</Button>
        </Empty>
      ) : (
        <Empty title="No boxes yet">
          A box is a whole Linux, made in milliseconds.{' '}
          {canWrite ? 'Create one here' : 'Ask for a token that may write'}, or type <code>boxyard create web</code>.
        </Empty>
      )}
      <CreateBox isOpen={search.create !== undefined && canWrite} close={() => change({ create: '' })} />
    </Page>
  )
}

interface FiltersProps {
  search: BoxesSearch
  change(part: BoxesSearch): void
  projects: readonly string[]
  nodes: readonly string[]
  count: number
  total: number
}

function Filters({ search, change, projects, nodes, count, total }: FiltersProps) {
  const { project = '', status = '', node = '', sort = 'name' } = search
  return (
    <div className="flex flex-wrap items-center gap-2">
      <FilterInput
        label="Name, tag or base"
        value={search.q ?? ''}
        onChange={(event) => change({ q: event.target.value })}
      />
      <FilterSelect label="Project" value={project} onChange={(event) => change({ project: event.target.value })}>
        <option value="">All projects</option>
        {projects.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </FilterSelect>
      <FilterSelect label="Status" value={status} onChange={(event) => change({ status: event.target.value })}>
        <option value="">Any status</option>
        {['running', 'stopped', 'pending', 'unknown'].map((each) => (
          <option key={each}>{each}</option>
        ))}
      </FilterSelect>
      {(nodes.length > 1 || node !== '') && (
        <FilterSelect label="Node" value={node} onChange={(event) => change({ node: event.target.value })}>
          <option value="">All nodes</option>
          {[...new Set([...nodes, ...(node === '' ? [] : [node])])].map((each) => (
            <option key={each}>{each}</option>
          ))}
        </FilterSelect>
      )}
      <FilterSelect label="Order" value={sort} onChange={(event) => change({ sort: event.target.value })}>
        {SORTS.map((each) => (
          <option key={each} value={each}>
            by {each}
          </option>
        ))}
      </FilterSelect>
      <span role="status" className="text-muted tabular-nums">
        {count === total ? `${total} boxes` : `${count} of ${total} boxes`}
      </span>
    </div>
  )
}
