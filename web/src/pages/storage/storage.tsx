import { useSuspenseQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useDeferredValue, useMemo } from 'react'
import { storageQuery } from '../../api/queries.ts'
import { FilterSelect } from '../../ui/field.tsx'
import { List } from '../../ui/list.tsx'
import { type Column, LongTable } from '../../ui/long-table.tsx'
import { Page } from '../../ui/page.tsx'
import { useSearchState } from '../../ui/search-state.ts'
import { bytesText } from '../../ui/words.ts'
import { PoolPanel } from './pool-panel.tsx'
import { ScrubPanel } from './scrub-panel.tsx'
import { type Stored, type StoredKind, selectStored, storedName, storedOf } from './storage-rows.ts'

/** The pool, the space that deleting each resource would free, and its check. */
export function StoragePage() {
  const { data: report } = useSuspenseQuery(storageQuery)
  const { get, change } = useSearchState()
  const rows = useMemo(() => storedOf(report), [report])
  const text = useDeferredValue(get('q'))
  const [kind, sort] = [get('kind'), get('sort') || '-frees']
  const shown = useMemo(() => selectStored(rows, { text, kind, sort }), [rows, text, kind, sort])
  return (
    <Page title="Storage">
      <PoolPanel report={report} />
      <ScrubPanel report={report} />
      <section aria-label="Stored data" className="flex flex-col gap-3">
        <div>
          <h2 className="font-semibold">Stored data</h2>
          <p className="text-muted">
            Deleting an entry frees the space that it does not share. Shared space is freed with the last entry that
            uses it.
          </p>
        </div>
        <List
          words={['entry', 'entries']}
          total={rows.length}
          shown={shown.length}
          findBy="Name"
          filters={
            <FilterSelect label="Kind" value={kind} onChange={(event) => change({ kind: event.target.value })}>
              <option value="">All kinds</option>
              {KINDS.map((each) => (
                <option key={each} value={each}>
                  {PLURALS[each]}
                </option>
              ))}
            </FilterSelect>
          }
          unfiltered={{ kind: '' }}
          nextStep="Boxes, volumes, snapshots and bases appear here."
        >
          <LongTable
            label="Stored"
            grid="grid-cols-[1fr_6.5rem] md:grid-cols-[6rem_1fr_8rem_8rem]"
            columns={COLUMNS}
            items={shown}
            keyOf={({ key }) => key}
            sorting={{ by: sort, change: (by) => change({ sort: by === '-frees' ? '' : by }) }}
          />
        </List>
      </section>
    </Page>
  )
}

function StoredLink({ row }: { row: Stored }): ReactNode {
  const { owner, project, name, snapshot } = row
  const text = (
    <>
      {project !== null && <span className="font-normal text-muted">{project}/</span>}
      {name}
      {snapshot !== null && <span className="font-normal">@{snapshot}</span>}
    </>
  )
  if (owner === null || project === null) {
    return (
      <span className="break-all">
        {text}
        {row.kind === 'base' && project === null && <span className="text-muted"> (shared)</span>}
        {row.kind === 'orphan' && <span className="block text-xs text-muted">no record, kept for now</span>}
      </span>
    )
  }
  return (
    <Link
      to={owner === 'box' ? '/boxes/$project/$name' : '/volumes/$project/$name'}
      params={{ project, name }}
      preload={false}
      title={storedName(row)}
      className="font-medium break-all hover:underline"
    >
      {text}
    </Link>
  )
}

const KINDS: readonly StoredKind[] = ['box', 'volume', 'snapshot', 'base', 'orphan']
const PLURALS: Readonly<Record<StoredKind, string>> = {
  box: 'Boxes',
  volume: 'Volumes',
  snapshot: 'Snapshots',
  base: 'Bases',
  orphan: 'Orphans',
}
const COLUMNS: readonly Column<Stored>[] = [
  { name: 'Kind', from: 'md', of: ({ kind }) => kind },
  {
    name: 'Name',
    sort: 'name',
    of: (row) => (
      <>
        <StoredLink row={row} />
        <span className="block text-xs text-muted md:hidden">
          {row.kind}, {bytesText(row.sizeBytes)}
        </span>
      </>
    ),
  },
  { name: 'Unique', sort: '-frees', isNumber: true, of: ({ uniqueBytes }) => bytesText(uniqueBytes) },
  { name: 'Size', sort: '-size', from: 'md', isNumber: true, of: ({ sizeBytes }) => bytesText(sizeBytes) },
]
