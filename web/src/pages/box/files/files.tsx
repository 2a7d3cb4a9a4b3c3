import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { History } from 'lucide-react'
import { useState } from 'react'
import { boxSnapshotsQuery } from '../../../api/queries.ts'
import { usePageSearch } from '../../../shell/page-search.ts'
import { FilterSelect } from '../../../ui/field.tsx'
import { Loading } from '../../../ui/page.tsx'
import { Problem } from '../../../ui/problem.tsx'
import { useBoxRef } from '../box.tsx'
import { newestFirst } from '../snapshots/queries.ts'
import { Directory } from './directory.tsx'
import { FileView } from './file-view.tsx'
import { useHeld } from './held.ts'
import { nameOfPlace, parentOf, parentsOf, placeOf, placeSearch, targetOf } from './place.ts'
import { PlaceLink } from './place-link.tsx'
import { type FilesAt, isFileGone, statQuery } from './queries.ts'

/** Files of the box, now or in a snapshot: a directory, or one file. */
export function FilesPage() {
  const box = useBoxRef()
  const search = usePageSearch<{ path: string; path64: string; snapshot: string }>()
  const at: FilesAt = { box, place: placeOf(search), snapshot: search.snapshot }
  return (
    <div className="flex w-full max-w-6xl flex-col gap-4 p-4 md:p-6">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <Crumbs at={at} />
        <Moment at={at} />
      </div>
      {at.snapshot !== undefined && (
        <p role="status" className="flex items-center gap-2 rounded-md bg-accent-soft px-3 py-2">
          <History aria-hidden className="size-4 shrink-0" />
          <span>
            As in {at.snapshot}. You can read and restore.{' '}
            <Link
              to="/boxes/$project/$name/files"
              params={box}
              search={placeSearch(at.place)}
              className="font-medium underline"
            >
              Show current files
            </Link>
          </span>
        </p>
      )}
      <AtPlace key={`${at.snapshot} ${at.place.base64 ?? at.place.text}`} at={at} />
    </div>
  )
}

function AtPlace({ at }: { at: FilesAt }) {
  const { data: now, error, refetch } = useQuery(statQuery(at))
  const [isUnsaved, setUnsaved] = useState(false)
  // An editor with unsaved text stays, whatever is at its path by now.
  const entry = useHeld(now, isUnsaved)
  const isGone = isFileGone(error)
  if (error !== null && (entry === undefined || (isGone && !isUnsaved))) {
    return (
      <>
        <Problem error={error} retry={() => void refetch()} />
        <PlaceLink at={{ ...at, place: parentOf(at.place) }}>Go to parent directory</PlaceLink>
      </>
    )
  }
  if (entry === undefined || now === undefined) return <Loading />
  if (entry.type === 'directory') return <Directory at={at} />
  if (entry.type === 'file')
    return <FileView at={at} entry={now} isGone={isGone} shown={entry} unsaved={[isUnsaved, setUnsaved]} />
  if (entry.type === 'symlink') {
    return (
      <p>
        This is a link to <code className="break-all">{entry.target}</code>.{' '}
        <PlaceLink at={{ ...at, place: targetOf(at.place, entry.target ?? '') }}>Go to target</PlaceLink>
      </p>
    )
  }
  return <p>This is a {entry.type}. It has no content to show.</p>
}

/** Links to the parent directories of a path, with its last part as the heading of the page. */
function Crumbs({ at }: { at: FilesAt }) {
  const places = parentsOf(at.place)
  return (
    <nav aria-label="Path" className="min-w-0">
      <ol className="flex flex-wrap items-center gap-x-1 font-mono text-sm">
        {places.map((place, index) => (
          <li key={place.text} className="flex items-center gap-1 break-all">
            {index > 1 && <span className="text-muted">/</span>}
            {index === places.length - 1 ? (
              <h2 aria-current="page" className="text-lg font-semibold">
                {nameOfPlace(place)}
              </h2>
            ) : (
              <PlaceLink at={{ ...at, place }} className="inline-block min-w-6 py-1 text-center">
                {nameOfPlace(place)}
              </PlaceLink>
            )}
          </li>
        ))}
      </ol>
    </nav>
  )
}

/** Chooses between now and the snapshots, at the same path. */
function Moment({ at: { box, place, snapshot } }: { at: FilesAt }) {
  const { data: snapshots } = useSuspenseQuery(boxSnapshotsQuery(box))
  const navigate = useNavigate()
  const names = newestFirst(snapshots).map(({ name }) => name)
  if (names.length === 0 && snapshot === undefined) return null
  const choose = (chosen: string): void => {
    const search = { ...placeSearch(place), ...(chosen === '' ? {} : { snapshot: chosen }) }
    void navigate({ to: '/boxes/$project/$name/files', params: box, search })
  }
  return (
    <FilterSelect label="Version" value={snapshot ?? ''} onChange={(event) => choose(event.target.value)}>
      <option value="">Now</option>
      {[...new Set([...(snapshot === undefined ? [] : [snapshot]), ...names])].map((name) => (
        <option key={name} value={name}>
          As in {name}
        </option>
      ))}
    </FilterSelect>
  )
}
