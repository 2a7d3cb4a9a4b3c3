import { ApiError } from '@boxyard/sdk'
import { useSuspenseQuery } from '@tanstack/react-query'
import { Link, Outlet, useLocation, useParams } from '@tanstack/react-router'
import { Suspense, useEffect, useRef } from 'react'
import { boxQuery } from '../../api/queries.ts'
import type { Box, Ref } from '../../api/records.ts'
import { Breadcrumb } from '../../shell/breadcrumb.tsx'
import { type Rights, useRights } from '../../shell/rights.ts'
import { Since } from '../../ui/now.tsx'
import { Heading, Loading, useTitle } from '../../ui/page.tsx'
import { BoxState, Status } from '../../ui/status.tsx'
import { BoxActions } from './box-actions.tsx'
import { BoxUrl } from './box-url.tsx'

/** One box, with its state, actions and parts. */
export function BoxPage() {
  const ref = useBoxRef()
  const { data: box, error } = useSuspenseQuery(boxQuery(ref))
  // The data that was read before stays, with unsaved changes in it.
  const isGone = error instanceof ApiError && error.status === 404
  const rights = useRights()
  const tabs = useRef<HTMLElement>(null)
  const { pathname } = useLocation()
  const part = TABS.find(({ to }) => partOf(to) === partOf(pathname))?.name ?? ''
  useTitle(`${ref.project}/${ref.name}${part === '' ? '' : ` · ${part}`}`)
  // On a narrow screen the tab of this page may be out of sight.
  useEffect(() => {
    tabs.current?.querySelector('[aria-current=page]')?.scrollIntoView({ block: 'nearest' })
  }, [pathname])
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div data-head-of={part} className="border-b border-line bg-panel px-4 pt-3 md:px-6">
        <div className="flex flex-wrap items-center justify-between gap-x-3">
          <div className="basis-full">
            <Breadcrumb to="/boxes" name="Boxes" project={ref.project} />
          </div>
          <div className="flex min-w-0 flex-wrap items-center gap-x-4 gap-y-1">
            <Heading title={`${box.project}/${box.name}`} />
            {isGone ? <Status status="deleted" /> : <BoxState box={box} />}
            {box.url !== null && !isGone && (
              <BoxUrl box={box} url={box.url} className="text-muted underline">
                {new URL(box.url).host}
              </BoxUrl>
            )}
          </div>
          {rights.canWrite && !isGone && <BoxActions box={box} />}
        </div>
        {isGone ? <Gone /> : <StateNote box={box} />}
        <nav ref={tabs} aria-label="Parts of the box" className="mt-3 -mb-px flex gap-1 overflow-x-auto">
          {TABS.filter((tab) => tab.isFor(rights)).map(({ to, name }) => (
            <Link
              key={to}
              to={to}
              params={ref}
              activeOptions={{ exact: true, includeSearch: false }}
              activeProps={{ className: 'border-accent! font-medium', 'aria-current': 'page' }}
              className="border-b-2 border-transparent px-3 py-2 whitespace-nowrap hover:border-line"
            >
              {name}
            </Link>
          ))}
        </nav>
      </div>
      <section
        data-part
        aria-label={`${part} of ${ref.name}`}
        tabIndex={-1}
        className="flex min-h-0 flex-1 flex-col outline-none"
      >
        <Suspense fallback={<Loading />}>
          <Outlet />
        </Suspense>
      </section>
    </div>
  )
}

/** Returns the end of a path that names a part of a box, or an empty text for the first part. */
function partOf(path: string): string {
  return path.split('/')[4] ?? ''
}

/** Shows the service's text about the state of the box. While the state changes, also shows the current step and its duration. */
function StateNote({ box }: { box: Box }) {
  const { status, state } = box
  const words = [status === 'pending' ? pendingWords(box) : undefined, state.message]
  const text = words.filter((each) => each !== undefined && each !== null).join(' ')
  if (text === '') return null
  return (
    <p className="mt-2 text-muted">
      <span role="status">{text}</span>
      {status === 'pending' && <Since time={state.since} />}
    </p>
  )
}

function pendingWords({ state, termination_grace_period_seconds: graceSeconds }: Box): string | undefined {
  const words: Partial<Record<Box['state']['reason'], string>> = {
    creating: 'Creating and starting the box.',
    starting: 'Starting the box.',
    stopping: `Stopping its processes. Any that still run after ${graceSeconds} s are killed.`,
    restoring: `Restoring a snapshot. Its processes stop within ${graceSeconds} s, and the box starts with the restored disk.`,
  }
  return words[state.reason]
}

function Gone() {
  return (
    <p role="alert" className="mt-2 rounded-md bg-warn-soft p-3">
      This box was deleted, with its disk.{' '}
      <Link to="/boxes" className="underline">
        All boxes
      </Link>
    </p>
  )
}

/** Returns the box that the address names. */
export function useBoxRef(): Ref {
  const params: unknown = useParams({ strict: false })
  const { project = '', name = '' } = params as Partial<Ref>
  return { project, name }
}

const readers = ({ canRead }: Rights): boolean => canRead

const TABS = [
  { to: '/boxes/$project/$name', name: 'Overview', isFor: readers },
  { to: '/boxes/$project/$name/terminal', name: 'Terminal', isFor: ({ canExec }: Rights) => canExec },
  { to: '/boxes/$project/$name/files', name: 'Files', isFor: readers },
  { to: '/boxes/$project/$name/snapshots', name: 'Snapshots', isFor: readers },
  { to: '/boxes/$project/$name/commands', name: 'Commands', isFor: ({ canExec }: Rights) => canExec },
  { to: '/boxes/$project/$name/services', name: 'Services', isFor: readers },
  { to: '/boxes/$project/$name/activity', name: 'Activity', isFor: readers },
  { to: '/boxes/$project/$name/connect', name: 'Connect', isFor: readers },
] as const
