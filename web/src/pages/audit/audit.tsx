import { useSuspenseInfiniteQuery } from '@tanstack/react-query'
import { RefreshCw } from 'lucide-react'
import { useDeferredValue, useMemo } from 'react'
import { Button } from '../../ui/button.tsx'
import { LongTable } from '../../ui/long-table.tsx'
import { MissingCells } from '../../ui/missing-cells.tsx'
import { Empty, Page } from '../../ui/page.tsx'
import { useSearchState } from '../../ui/search-state.ts'
import { auditColumns } from './audit-columns.tsx'
import { AuditFilterForm } from './audit-filter-form.tsx'
import { auditQuery } from './audit-query.ts'

const PARTS = ['actor', 'project', 'operation', 'status'] as const

/** Lists who did what and the answer, newest first: every change, and every refused request. */
export function AuditPage() {
  const { get, change } = useSearchState()
  const asked = PARTS.map(get).join('\n')
  // The lines on screen stay until the requested ones arrive.
  const shownFor = useDeferredValue(asked)
  const search = useMemo(() => {
    const values = shownFor.split('\n')
    return Object.fromEntries(PARTS.map((part, index) => [part, values[index] ?? '']))
  }, [shownFor])
  const { data, hasNextPage, fetchNextPage, isFetching, refetch } = useSuspenseInfiniteQuery(auditQuery(search))
  const lines = useMemo(() => data.pages.flatMap(({ entries }) => entries), [data])
  const columns = useMemo(() => auditColumns((part, value) => change({ [part]: value })), [change])
  const missing = data.pages.at(-1)?.missing_cells ?? []
  const isFiltered = PARTS.some((part) => get(part) !== '')
  return (
    <Page
      title="Audit"
      actions={
        <Button disabled={isFetching} onClick={() => void refetch()}>
          <RefreshCw aria-hidden className={`size-4 ${isFetching ? 'animate-spin' : ''}`} />
          Refresh
        </Button>
      }
    >
      <AuditFilterForm get={get} change={change} />
      <MissingCells cells={missing} />
      {lines.length > 0 ? (
        <LongTable
          label="Audit log"
          grid="grid-cols-[1fr_6.5rem] md:grid-cols-[6rem_8rem_1fr_8rem] lg:grid-cols-[6rem_9rem_1fr_8rem_5.5rem]"
          columns={columns}
          items={lines}
          keyOf={({ request_id: id, ts }) => `${ts} ${id}`}
        />
      ) : (
        <Empty title={isFiltered ? 'No entries match' : 'No entries yet'}>
          {isFiltered ? (
            <Button onClick={() => change({ actor: '', project: '', operation: '', status: '' })}>Clear filters</Button>
          ) : (
            'Boxyard records every change and every refused request here.'
          )}
        </Empty>
      )}
      {lines.length > 0 && (
        <div className="flex items-center justify-center gap-3 text-muted">
          <span role="status" className="tabular-nums">
            {hasNextPage ? `${lines.length} entries` : 'End of log'}
          </span>
          {hasNextPage && (
            <Button disabled={isFetching} onClick={() => void fetchNextPage()}>
              {isFetching ? 'Loading…' : 'Show older'}
            </Button>
          )}
        </div>
      )}
    </Page>
  )
}
