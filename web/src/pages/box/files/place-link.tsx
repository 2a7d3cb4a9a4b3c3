import { Link } from '@tanstack/react-router'
import { placeSearch } from './place.ts'
import type { FilesAt } from './queries.ts'

/** A link to a path, at the same moment. */
export function PlaceLink({ at, children, className = '' }: { at: FilesAt; children: string; className?: string }) {
  const { box, place, snapshot } = at
  return (
    <Link
      to="/boxes/$project/$name/files"
      params={{ project: box.project, name: box.name }}
      search={{ ...placeSearch(place), ...(snapshot === undefined ? {} : { snapshot }) }}
      preload={false}
      className={`underline ${className}`}
    >
      {children}
    </Link>
  )
}
