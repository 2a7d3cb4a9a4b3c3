import { queryOptions, useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { Accessibility, Plus, X } from 'lucide-react'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { boxQuery } from '../../api/queries.ts'
import type { Ref } from '../../api/records.ts'
import { useLive } from '../../shell/live-provider.tsx'
import { usePageSearch } from '../../shell/page-search.ts'
import { chooseScreenReader, useScreenReader } from '../../terminal/screen-reader.ts'
import { TerminalView } from '../../terminal/terminal-view.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { Empty } from '../../ui/page.tsx'
import { tellError } from '../../ui/toasts.tsx'
import { useBoxRef } from './box.tsx'

/** The sessions of a box, each a tab that goes on when the page is left. */
export function Terminals() {
  const ref = useBoxRef()
  const { data: box } = useSuspenseQuery(boxQuery(ref))
  const { isPolled } = useLive()
  if (box.status !== 'running') {
    return (
      <div className="p-6">
        <Empty title={`${box.name} is ${box.status}`}>Start the box to open a terminal.</Empty>
      </div>
    )
  }
  if (isPolled) {
    return (
      <div className="p-6">
        <Empty title="Terminals are not available here">
          This console is served without WebSockets. Use the command line instead:{' '}
          <code className="font-mono">
            boxyard use {ref.project} && boxyard console {box.name}
          </code>
          .
        </Empty>
      </div>
    )
  }
  return <RunningTerminals box={ref} />
}

function RunningTerminals({ box }: { box: Ref }) {
  const { session: named = 'main' } = usePageSearch<{ session: string }>()
  const { data: sessions } = useSuspenseQuery(sessionsQuery(box))
  const navigate = useNavigate()
  const queries = useQueryClient()
  const [ending, setEnding] = useState<string | null>(null)
  const names = [...new Set([...sessions, named])]
  const open = (session: string): void =>
    void navigate({ to: '/boxes/$project/$name/terminal', params: box, search: { session } })
  const end = async (session: string): Promise<void> => {
    try {
      await api().call('deleteSession', { path: { ...box, session } })
      await queries.invalidateQueries({ queryKey: sessionsQuery(box).queryKey })
      open(names.find((each) => each !== session) ?? 'main')
    } catch (error) {
      tellError(error)
    }
  }
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <nav aria-label="Sessions" className="flex items-center gap-1 overflow-x-auto border-b border-line px-3 py-1">
        {names.map((session) => (
          <span
            key={session}
            className={`flex items-center gap-1 rounded-md px-2 py-1 ${session === named ? 'bg-accent-soft font-medium' : 'hover:bg-raised'}`}
          >
            <Link
              to="/boxes/$project/$name/terminal"
              params={box}
              search={{ session }}
              aria-current={session === named ? 'true' : undefined}
            >
              {session}
            </Link>
            <button
              type="button"
              aria-label={`End ${session}`}
              className="rounded p-0.5 hover:bg-line"
              onClick={() => setEnding(session)}
            >
              <X aria-hidden className="size-3.5" />
            </button>
          </span>
        ))}
        <BeginButton begin={() => open(freeName(names))} />
        <ScreenReaderButton />
      </nav>
      <TerminalView
        key={named}
        box={box}
        session={named}
        onOpen={() => void queries.invalidateQueries({ queryKey: sessionsQuery(box).queryKey })}
      />
      <Confirm
        title={`End the session ${ending ?? ''}?`}
        about="This ends its shell and everything that runs in it, for everyone attached."
        action="End"
        isOpen={ending !== null}
        close={() => setEnding(null)}
        act={() => void end(ending ?? '')}
      />
    </div>
  )
}

function BeginButton({ begin }: { begin(): void }) {
  return (
    <button
      type="button"
      aria-label="New terminal"
      title="New terminal"
      className="rounded p-1.5 hover:bg-raised"
      onClick={begin}
    >
      <Plus aria-hidden className="size-4" />
    </button>
  )
}

function ScreenReaderButton() {
  const isOn = useScreenReader()
  return (
    <button
      type="button"
      aria-pressed={isOn}
      title="Reads terminal output aloud. The terminal gets slower."
      className={`ml-auto inline-flex items-center gap-1.5 rounded-md px-2 py-1 whitespace-nowrap ${isOn ? 'bg-accent-soft font-medium' : 'text-muted hover:bg-raised'}`}
      onClick={() => chooseScreenReader(!isOn)}
    >
      <Accessibility aria-hidden className="size-4" /> Screen reader
    </button>
  )
}

const sessionsQuery = ({ project, name }: Ref) =>
  queryOptions({
    queryKey: ['sessions', project, name],
    queryFn: async ({ signal }) => {
      const { sessions } = await api().call('listSessions', { path: { project, name }, signal })
      // As they were begun: a tab stays where it is when another is begun before it by name.
      return sessions.toSorted((a, b) => Date.parse(a.created_at) - Date.parse(b.created_at)).map((each) => each.name)
    },
  })

/** Returns a name that no session has. */
export function freeName(names: readonly string[]): string {
  for (let number = 2; ; number++) if (!names.includes(`shell-${number}`)) return `shell-${number}`
}
