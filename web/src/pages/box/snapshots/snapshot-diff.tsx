import { useInfiniteQuery, useSuspenseQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { ArrowLeft, ArrowLeftRight } from 'lucide-react'
import { useDeferredValue, useEffect, useMemo, useState } from 'react'
import { boxSnapshotsQuery } from '../../../api/queries.ts'
import type { BoxSnapshot, DiffChange, Ref } from '../../../api/records.ts'
import { usePageSearch } from '../../../shell/page-search.ts'
import { useRights } from '../../../shell/rights.ts'
import { Button } from '../../../ui/button.tsx'
import { FilterInput, FilterSelect } from '../../../ui/field.tsx'
import { Empty, Loading } from '../../../ui/page.tsx'
import { Problem } from '../../../ui/problem.tsx'
import { VirtualRows } from '../../../ui/virtual-rows.tsx'
import { useBoxRef } from '../box.tsx'
import { type FilePlace, placeOfView } from '../files/place.ts'
import { RestorePath } from '../files/restore-path.tsx'
import { CHANGE_KINDS, countChanges, selectChanges } from './diff-changes.ts'
import { DiffRow } from './diff-row.tsx'
import { diffQuery, LIVE, newestFirst } from './queries.ts'

interface DiffSearch {
  from?: string
  to?: string
  kind?: string
  q?: string
}

/** Changes on the disk of the box between two snapshots, or until now, by kind and path. */
export function SnapshotDiff({ from, to }: { from: string; to: string }) {
  const ref = useBoxRef()
  const { data: snapshots } = useSuspenseQuery(boxSnapshotsQuery(ref))
  const { kind = '', q = '' } = usePageSearch<{ kind: string; q: string }>()
  const text = useDeferredValue(q)
  const { canWrite } = useRights()
  const [restoring, setRestoring] = useState<FilePlace | null>(null)
  const { changes, hasMore, readMore, diff } = useChanges(ref, from, to)
  const shown = useMemo(() => selectChanges(changes, { kind, text }), [changes, kind, text])
  const change = useDiffSearch(ref, { from, to, kind, q })
  return (
    <>
      <DiffHead box={ref} snapshots={snapshots} {...{ from, to, change }} again={() => void diff.refetch()} />
      {diff.error !== null && <Problem error={diff.error} retry={() => void diff.refetch()} />}
      {diff.isPending && <Loading what="Comparing" />}
      {diff.isSuccess && changes.length === 0 && (
        <Empty title="No changes">
          {to === LIVE ? `The disk equals ${from}` : `${to} equals ${from}`}. Select two other snapshots to compare.
        </Empty>
      )}
      {changes.length > 0 && (
        <>
          <KindFilter changes={changes} kind={kind} isComplete={!hasMore} choose={(next) => change({ kind: next })} />
          <div className="flex flex-wrap items-center gap-3">
            <FilterInput label="Filter by path" value={q} onChange={(event) => change({ q: event.target.value })} />
            <span role="status" className="text-muted">
              {shown.length} shown{diff.isFetchingNextPage && ', loading more…'}
            </span>
            {hasMore && !diff.isFetchingNextPage && <Button onClick={readMore}>Load more</Button>}
          </div>
          <VirtualRows label="Changes" items={shown} rowPx={48} keyOf={({ path, path_base64: bytes }) => bytes ?? path}>
            {(each) => (
              <DiffRow
                box={ref}
                change={each}
                {...{ from, to }}
                restore={canWrite && each.kind !== 'added' ? () => setRestoring(formerPlace(each)) : null}
              />
            )}
          </VirtualRows>
        </>
      )}
      <RestorePath box={ref} snapshot={from} place={restoring} close={() => setRestoring(null)} />
    </>
  )
}

interface HeadProps {
  box: Ref
  snapshots: readonly BoxSnapshot[]
  from: string
  to: string
  change(part: DiffSearch): void
  again(): void
}

function DiffHead({ box, snapshots, from, to, change, again }: HeadProps) {
  const names = newestFirst(snapshots).map(({ name }) => name)
  const known = names.includes(from) ? names : [from, ...names]
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
      <Link
        to="/boxes/$project/$name/snapshots"
        params={box}
        search={{}}
        className="inline-flex items-center gap-1 underline"
      >
        <ArrowLeft aria-hidden className="size-4" /> Timeline
      </Link>
      <h2 className="text-lg font-semibold">Changes from</h2>
      <FilterSelect label="From" value={from} onChange={(event) => change({ from: event.target.value })}>
        {known.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </FilterSelect>
      <span className="text-lg font-semibold">to</span>
      <FilterSelect label="To" value={to} onChange={(event) => change({ to: event.target.value })}>
        <option value={LIVE}>Now</option>
        {names.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </FilterSelect>
      {to === LIVE ? (
        <Button onClick={again}>Refresh</Button>
      ) : (
        <Button onClick={() => change({ from: to, to: from })}>
          <ArrowLeftRight aria-hidden className="size-4" /> Swap
        </Button>
      )}
    </div>
  )
}

interface KindFilterProps {
  changes: readonly DiffChange[]
  kind: string
  isComplete: boolean
  choose(kind: string): void
}

function KindFilter({ changes, kind, isComplete, choose }: KindFilterProps) {
  const counts = useMemo(() => countChanges(changes), [changes])
  const choices = [
    { value: '', words: `${changes.length}${isComplete ? '' : '+'} total` },
    ...CHANGE_KINDS.map((each) => ({ value: each.kind, words: `${each.sign} ${counts[each.kind]} ${each.word}` })),
  ]
  return (
    <div role="group" aria-label="Kinds of changes" className="flex flex-wrap gap-1">
      {choices.map(({ value, words }) => (
        <button
          key={value}
          type="button"
          aria-pressed={value === kind}
          className={`rounded-md px-3 py-1 tabular-nums ${value === kind ? 'bg-accent-soft font-medium' : 'hover:bg-raised'}`}
          onClick={() => choose(value)}
        >
          {words}
        </button>
      ))}
    </div>
  )
}

/** Reads the changes page by page up to a maximum, and more on request. */
function useChanges(ref: Ref, from: string, to: string) {
  const diff = useInfiniteQuery(diffQuery(ref, from, to))
  const [most, setMost] = useState(READ_AT_ONCE)
  const changes = useMemo(() => diff.data?.pages.flatMap((page) => page.changes) ?? [], [diff.data])
  const { hasNextPage, isFetching, fetchNextPage, isError } = diff
  useEffect(() => {
    if (hasNextPage && !isFetching && !isError && changes.length < most) void fetchNextPage()
  }, [hasNextPage, isFetching, isError, fetchNextPage, changes.length, most])
  return { changes, hasMore: hasNextPage, readMore: () => setMost(changes.length + READ_AT_ONCE), diff }
}

function useDiffSearch(ref: Ref, now: Required<DiffSearch>): (part: DiffSearch) => void {
  const navigate = useNavigate()
  return (part) => {
    const search = Object.fromEntries(Object.entries({ ...now, ...part }).filter(([, value]) => value !== ''))
    void navigate({ to: '/boxes/$project/$name/snapshots', params: ref, search, replace: 'q' in part })
  }
}

/** Returns the path of the entry before the change. */
function formerPlace(change: DiffChange): FilePlace {
  if (change.from === null) return placeOfView(change)
  return placeOfView({ path: change.from, path_base64: change.from_base64 })
}

const READ_AT_ONCE = 20_000
