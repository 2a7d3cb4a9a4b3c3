import { useSuspenseQuery } from '@tanstack/react-query'
import { useDeferredValue, useMemo, useState } from 'react'
import { boxesQuery } from '../../api/queries.ts'
import { useRights } from '../../shell/rights.ts'
import { Button } from '../../ui/button.tsx'
import { FilterSelect } from '../../ui/field.tsx'
import { List, ProjectFilter } from '../../ui/list.tsx'
import { sortNaturally } from '../../ui/natural.ts'
import { Page } from '../../ui/page.tsx'
import { type SearchState, useSearchState } from '../../ui/search-state.ts'
import { BoxTable } from './box-table.tsx'
import { BulkActions } from './bulk-actions.tsx'
import { CreateBox } from './create-box.tsx'
import { FirstSteps } from './first-steps.tsx'
import { nodesOf, SORT_NAMES, SORTS, selectBoxes } from './select.ts'

/** All boxes, with search, order, selection and actions. */
export function BoxesPage() {
  const { data: read } = useSuspenseQuery(boxesQuery)
  const { get, change } = useSearchState()
  const { canWrite } = useRights()
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const text = useDeferredValue(get('q'))
  const [project, status, node, sort] = [get('project'), get('status'), get('node'), get('sort')]
  // Sorts once for each list, not at each letter of a filter.
  const boxes = useMemo(() => sortNaturally(read, ({ project, name }) => `${project}/${name}`), [read])
  const shown = useMemo(
    () => selectBoxes(boxes, { text, project, status, node, sort }),
    [boxes, text, project, status, node, sort],
  )
  const projects = useMemo(() => [...new Set(boxes.map((box) => box.project))], [boxes])
  const nodes = useMemo(() => nodesOf(boxes), [boxes])
  const ofShown = shown.filter(({ id }) => chosen.has(id))
  return (
    <Page
      title="Boxes"
      actions={
        canWrite &&
        boxes.length > 0 && (
          <Button kind="primary" onClick={() => change({ create: 'box' })}>
            Create box
          </Button>
        )
      }
    >
      <List
        words={['box', 'boxes']}
        total={boxes.length}
        shown={shown.length}
        findBy="Name, tag or base"
        filters={<Filters get={get} change={change} projects={projects} nodes={nodes} />}
        unfiltered={{ project: '', status: '', node: '' }}
        empty={<FirstSteps />}
      >
        <BoxTable
          boxes={shown}
          hasNodes={nodes.length > 1}
          sorting={{ by: sort || 'name', change: (by) => change({ sort: by === 'name' ? '' : by }) }}
          chosen={chosen}
          setChosen={canWrite ? setChosen : null}
        />
        {ofShown.length > 0 && <BulkActions boxes={ofShown} clear={() => setChosen(new Set())} />}
      </List>
      <CreateBox isOpen={get('create') !== '' && canWrite} close={() => change({ create: '' })} />
    </Page>
  )
}

interface FiltersProps extends SearchState {
  projects: readonly string[]
  nodes: readonly string[]
}

function Filters({ get, change, projects, nodes }: FiltersProps) {
  const node = get('node')
  return (
    <>
      <ProjectFilter projects={projects} value={get('project')} change={(project) => change({ project })} />
      <FilterSelect label="Status" value={get('status')} onChange={(event) => change({ status: event.target.value })}>
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
      <FilterSelect
        label="Sort"
        value={get('sort').replace(/^-/, '') || 'name'}
        onChange={(event) => change({ sort: event.target.value })}
      >
        {SORTS.map((each) => (
          <option key={each} value={each}>
            Sort: {SORT_NAMES[each]}
          </option>
        ))}
      </FilterSelect>
    </>
  )
}
