import { useSuspenseQuery } from '@tanstack/react-query'
import { useDeferredValue, useMemo, useState } from 'react'
import { basesQuery, sharedBasesQuery } from '../../api/queries.ts'
import type { Base } from '../../api/records.ts'
import { type Rights, useRights } from '../../shell/rights.ts'
import { Button } from '../../ui/button.tsx'
import { FailedJobs, useAgain } from '../../ui/failed-jobs.tsx'
import { FilterSelect } from '../../ui/field.tsx'
import { Jobs } from '../../ui/jobs.tsx'
import { List } from '../../ui/list.tsx'
import { type Column, LongTable } from '../../ui/long-table.tsx'
import { Ago } from '../../ui/now.tsx'
import { Page } from '../../ui/page.tsx'
import { useSearchState } from '../../ui/search-state.ts'
import { bytesText } from '../../ui/words.ts'
import { DeleteBase } from './delete-base.tsx'
import { MakeBase } from './make-base.tsx'
import { baseName, selectBases, sourceText } from './select-bases.ts'

/** The bases that boxes are created from, both shared ones and bases of projects. Users find, create and delete them here. */
export function BasesPage() {
  const { data: shared } = useSuspenseQuery(sharedBasesQuery)
  const { data: own } = useSuspenseQuery(basesQuery)
  const { get, change } = useSearchState()
  const rights = useRights()
  const [deleted, setDeleted] = useState<Base | null>(null)
  const again = useAgain({
    open: ({ source = '' }) => change({ dialog: 'make', of: source }),
    close: () => change({ dialog: '', of: '' }),
  })
  const bases = useMemo(() => [...shared, ...own], [shared, own])
  const text = useDeferredValue(get('q'))
  const [project, sort] = [get('project'), get('sort')]
  const shown = useMemo(() => selectBases(bases, { text, project, sort }), [bases, text, project, sort])
  const projects = useMemo(() => [...new Set(own.map((base) => base.project ?? ''))], [own])
  const columns = useMemo(() => [...COLUMNS, deleteColumn(rights, setDeleted)], [rights])
  return (
    <Page
      title="Bases"
      actions={
        rights.canWrite && (
          <Button kind="primary" onClick={() => change({ dialog: 'make' })}>
            Create base
          </Button>
        )
      }
    >
      <Jobs place="bases" />
      <FailedJobs place="bases" again={again.show} />
      <List
        words={['base', 'bases']}
        total={bases.length}
        shown={shown.length}
        findBy="Name or source"
        filters={
          <FilterSelect label="Owner" value={project} onChange={(event) => change({ project: event.target.value })}>
            <option value="">All bases</option>
            <option value="*">Shared</option>
            {projects.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </FilterSelect>
        }
        unfiltered={{ project: '' }}
        nextStep="Boxes start from a base. Create one from an image, such as debian:12."
      >
        <LongTable
          label="Bases"
          grid="grid-cols-[1fr_5rem_5.5rem] md:grid-cols-[1.2fr_1.6fr_4rem_6rem_6rem_6rem]"
          columns={columns}
          items={shown}
          keyOf={({ id }) => id}
          sorting={{ by: sort, change: (by) => change({ sort: by }) }}
        />
      </List>
      {own.length === 0 && bases.length > 0 && (
        <p className="text-muted">
          No project has its own base yet. Create one from a box that you have set up, and new boxes start from it in
          milliseconds.
        </p>
      )}
      <MakeBase again={again.input} isOpen={get('dialog') === 'make' && rights.canWrite} close={again.close} />
      <DeleteBase base={deleted} close={() => setDeleted(null)} />
    </Page>
  )
}

function deleteColumn({ canWrite, isAdmin, isOfAll }: Rights, ask: (base: Base) => void): Column<Base> {
  return {
    name: '',
    of: (base) =>
      canWrite &&
      (base.project !== null || (isAdmin && isOfAll)) && (
        <span className="flex justify-end">
          <Button kind="quiet" aria-label={`Delete ${baseName(base)}`} onClick={() => ask(base)}>
            Delete
          </Button>
        </span>
      ),
  }
}

const COLUMNS: readonly Column<Base>[] = [
  {
    name: 'Name',
    sort: 'name',
    of: ({ project, name, source }) => (
      <>
        <span className="font-medium break-all">
          {project !== null && <span className="font-normal text-muted">{project}/</span>}
          {name}
        </span>
        {project === null && <span className="text-muted"> (shared)</span>}
        <span className="block text-xs break-words text-muted md:hidden">{sourceText(source)}</span>
      </>
    ),
  },
  {
    name: 'Source',
    from: 'md',
    of: ({ source }) => (
      <span className="break-words" title={source}>
        {sourceText(source)}
      </span>
    ),
  },
  { name: 'Version', from: 'md', isNumber: true, of: ({ version }) => version },
  { name: 'Size', sort: '-size', isNumber: true, of: ({ size_bytes }) => bytesText(size_bytes) },
  { name: 'Created', sort: '-created', from: 'md', of: ({ created_at }) => <Ago time={created_at} /> },
]
