import { Link } from '@tanstack/react-router'

interface BreadcrumbProps {
  /** The list that a page belongs to. */
  to: '/boxes' | '/volumes'
  name: string
  project: string
}

/** Links to the list that a page belongs to, and to its project in that list. */
export function Breadcrumb({ to, name, project }: BreadcrumbProps) {
  return (
    <nav aria-label="Breadcrumb" className="text-xs text-muted">
      <ol className="flex flex-wrap items-center gap-x-1.5">
        <li>
          <Link to={to} preload={false} className="inline-flex min-h-6 items-center hover:underline">
            {name}
          </Link>
        </li>
        <li aria-hidden>/</li>
        <li className="min-w-0">
          <Link
            to={to}
            search={{ project }}
            preload={false}
            className="inline-flex min-h-6 items-center break-all hover:underline"
          >
            {project}
          </Link>
        </li>
      </ol>
    </nav>
  )
}
