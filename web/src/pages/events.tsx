import { Link } from '@tanstack/react-router'
import { usePageSearch } from '../shell/page-search.ts'
import { Page, Panel } from '../ui/page.tsx'
import { EventList } from './event-list.tsx'

/** What happens now, by kind. */
export function EventsPage() {
  const { kind = '' } = usePageSearch<{ kind: string }>()
  return (
    <Page title="Events">
      <nav aria-label="Kinds" className="flex flex-wrap gap-1">
        {KINDS.map(([value, name]) => (
          <Link
            key={value}
            to="/events"
            search={value === '' ? {} : { kind: value }}
            aria-current={value === kind ? 'true' : undefined}
            className={`rounded-md px-3 py-1 ${value === kind ? 'bg-accent-soft font-medium' : 'hover:bg-raised'}`}
          >
            {name}
          </Link>
        ))}
      </nav>
      <Panel title="Happening now">
        <EventList most={200} select={({ type }) => kind === '' || type.startsWith(`${kind}.`)} />
      </Panel>
    </Page>
  )
}

const KINDS = [
  ['', 'All'],
  ['box', 'Boxes'],
  ['data', 'Volumes'],
  ['snapshot', 'Snapshots'],
  ['backup', 'Backups'],
  ['base', 'Bases'],
  ['service', 'Services'],
  ['token', 'Tokens'],
] as const
