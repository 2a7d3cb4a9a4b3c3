import { useRouterState } from '@tanstack/react-router'
import { useTitle } from '../ui/page.tsx'
import { PLACES } from './places.ts'

/** A loading page, with its title at once, and a placeholder for its content. The next heading gets the focus, not this one. */
export function PendingPage() {
  const title = titleOf(useRouterState({ select: ({ location }) => location.pathname }))
  useTitle(title)
  return (
    <div aria-busy className="flex w-full max-w-6xl flex-col gap-5 p-4 md:p-6">
      <h1 data-pending className="flex min-h-8 items-center text-xl font-semibold break-all">
        {title}
      </h1>
      <p role="status" className="sr-only">
        Loading…
      </p>
      {BLOCKS.map((height) => (
        <div key={height} aria-hidden className={`${height} animate-pulse rounded-lg bg-raised`} />
      ))}
    </div>
  )
}

/** The loading console, before it knows the permissions of the session. */
export function Starting() {
  return (
    <main aria-busy className="grid min-h-dvh place-items-center">
      <div className="flex flex-col items-center gap-3 text-muted">
        <img src="/icon.svg" alt="" className="size-10 animate-pulse" />
        <p role="status" className="sr-only">
          Loading…
        </p>
      </div>
    </main>
  )
}

/** A line at the top of the window while an opened page is loading. */
export function ProgressLine() {
  const isUnderWay = useRouterState({ select: ({ status }) => status === 'pending' })
  return (
    <div
      role="status"
      aria-label="Loading page"
      className={`progress-late pointer-events-none fixed inset-x-0 top-0 z-50 h-0.5 overflow-hidden ${isUnderWay ? '' : 'hidden'}`}
    >
      <div className="progress-line h-full w-1/3 bg-accent" />
    </div>
  )
}

/** Returns the future heading of a page, as far as its address shows it. */
function titleOf(pathname: string): string {
  const [, kind = '', project, name] = pathname.split('/')
  if (project && name && (kind === 'boxes' || kind === 'volumes')) return `${project}/${name}`
  return PLACES.find(({ to }) => to === `/${kind}`)?.name ?? 'Boxyard'
}

const BLOCKS = ['h-9', 'h-40', 'h-64']
