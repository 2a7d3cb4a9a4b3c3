import { queryOptions, useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { AArrowDown, AArrowUp, Accessibility, Columns2, Maximize, Minimize, Plus, Rows2, Square, X } from 'lucide-react'
import { type ReactNode, useEffect, useState } from 'react'
import { api } from '../../api/client.ts'
import { webAddress } from '../../api/own-path.ts'
import { boxQuery } from '../../api/queries.ts'
import type { Box, Ref } from '../../api/records.ts'
import { useLive } from '../../shell/live-provider.tsx'
import { usePageSearch } from '../../shell/page-search.ts'
import { changeFontSize, screenReader } from '../../terminal/choices.ts'
import { useFullScreen } from '../../terminal/full-screen.ts'
import { TerminalView } from '../../terminal/terminal-view.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { Empty } from '../../ui/page.tsx'
import { tell, tellError } from '../../ui/toasts.tsx'
import { useBoxRef } from './box.tsx'
import { openBoxUrl } from './open-box-url.ts'

/** The sessions of a box, each a tab that keeps running after the page closes. */
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
  return <RunningTerminals box={box} />
}

/** Returns the sessions of a box, the sessions in the address of the page, and a function that changes those. */
function useSessions(ref: Ref) {
  const search = usePageSearch<Record<keyof TerminalSearch, string>>()
  const { data: sessions } = useSuspenseQuery(sessionsQuery(ref))
  const navigate = useNavigate()
  const queries = useQueryClient()
  const isNew = search.session === undefined && search.cwd !== undefined
  const { session: named = isNew ? freeName(sessions) : 'main', beside = null, below } = search
  const names = [...new Set([...sessions, named, ...(beside === null ? [] : [beside])])]
  const open = (next: TerminalSearch): void =>
    void navigate({ to: '/boxes/$project/$name/terminal', params: ref, search: next })
  // Keeps its name while other sessions start and end.
  useEffect(() => {
    if (isNew) void navigate({ to: '.', search: { session: named, cwd: search.cwd }, replace: true })
  }, [isNew, named, search.cwd, navigate])
  const withNext = (next: Partial<TerminalSearch>): TerminalSearch =>
    tidy({ session: named, beside: beside ?? undefined, below, ...next })
  const refresh = (): Promise<void> => queries.invalidateQueries({ queryKey: sessionsQuery(ref).queryKey })
  const end = async (session: string): Promise<void> => {
    try {
      await api().call('deleteSession', { path: { ...ref, session } })
      await refresh()
      if (session === beside) open({ session: named })
      else open({ session: beside ?? names.find((each) => each !== session) ?? 'main' })
    } catch (error) {
      tellError(error)
    }
  }
  return {
    named,
    beside: beside === named ? null : beside,
    below,
    cwd: search.cwd,
    names,
    open,
    withNext,
    refresh,
    end,
  }
}

/** The terminal that the address names, and with `beside` a second one next to it, or below it. */
function RunningTerminals({ box }: { box: Box }) {
  const ref = useBoxRef()
  const { named, beside, below, cwd, names, open, withNext, refresh, end } = useSessions(ref)
  const [ending, setEnding] = useState<string | null>(null)
  const { isFull, toggle } = useFullScreen()
  const view = (session: string, from?: string) => (
    <TerminalView
      key={session}
      box={ref}
      session={session}
      cwd={from}
      onBoxPort={(port, path) => openBoxPort(box, port, path)}
      onOpen={() => void refresh()}
    />
  )
  return (
    <div className={`flex min-h-0 flex-1 flex-col ${isFull ? 'fixed inset-0 z-30 bg-bg' : ''}`}>
      <nav aria-label="Sessions" className="flex items-center gap-1 overflow-x-auto border-b border-line px-3 py-1">
        {names.map((session) => (
          <SessionTab
            key={session}
            session={session}
            // A tab of the second terminal makes it the first.
            search={session === beside ? withNext({ session, beside: named }) : withNext({ session })}
            isOpen={session === named}
            end={() => setEnding(session)}
          />
        ))}
        <ToolButton
          name="New terminal"
          icon={<Plus aria-hidden className="size-4" />}
          press={() => open(withNext({ session: freeName(names) }))}
        />
        <Tools
          isFull={isFull}
          toggleFull={toggle}
          split={(isBelow) =>
            open({ session: named, beside: beside ?? freeName(names), ...(isBelow && { below: 'yes' }) })
          }
          join={beside === null ? null : () => open({ session: named })}
        />
      </nav>
      <div className={`flex min-h-0 flex-1 flex-col ${below === undefined ? 'md:flex-row' : ''}`}>
        {view(named, cwd)}
        {beside !== null && (
          <div
            className={`flex min-h-0 min-w-0 flex-1 border-t border-line ${below === undefined ? 'md:border-t-0 md:border-l' : ''}`}
          >
            {view(beside)}
          </div>
        )}
      </div>
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

/** The state in the page's address. A directory without a session starts a new session there. */
type TerminalSearch = {
  session?: string | undefined
  cwd?: string | undefined
  beside?: string | undefined
  below?: string | undefined
}

function tidy(search: TerminalSearch): TerminalSearch {
  return search.beside === search.session ? { session: search.session } : search
}

/** Opens a port that a program calls its own machine's at the URL of the box, if that leads there. */
function openBoxPort(box: Box, port: number, path: string): void {
  const address = webAddress(box.url)
  if (address !== null && port === (box.port ?? DEFAULT_PORT)) {
    void openBoxUrl(box, new URL(path, address).href)
    return
  }
  tell(
    `Port ${port} is in the box, and its URL leads to port ${box.port ?? DEFAULT_PORT}. \`boxyard port-forward ${box.name} ${port}\` brings it to your machine.`,
  )
}

interface SessionTabProps {
  session: string
  search: TerminalSearch
  isOpen: boolean
  end(): void
}

function SessionTab({ session, search, isOpen, end }: SessionTabProps) {
  const box = useBoxRef()
  return (
    <span
      className={`flex items-center gap-1 rounded-md px-2 py-1 ${isOpen ? 'bg-accent-soft font-medium' : 'hover:bg-raised'}`}
    >
      <Link
        to="/boxes/$project/$name/terminal"
        params={box}
        search={search}
        aria-current={isOpen ? 'true' : undefined}
        className="whitespace-nowrap"
      >
        {session}
      </Link>
      <button type="button" aria-label={`End ${session}`} className="rounded p-0.5 hover:bg-line" onClick={end}>
        <X aria-hidden className="size-3.5" />
      </button>
    </span>
  )
}

interface ToolsProps {
  isFull: boolean
  toggleFull(): void
  /** Opens a second terminal next to the first, or below it. */
  split(isBelow: boolean): void
  /** Keeps only the first terminal. Null if it is the only one. */
  join: (() => void) | null
}

function Tools({ isFull, toggleFull, split, join }: ToolsProps) {
  const isRead = screenReader.use()
  return (
    <div role="toolbar" aria-label="Terminal" className="ml-auto flex items-center gap-1 text-muted">
      <ToolButton
        name="Smaller text"
        icon={<AArrowDown aria-hidden className="size-4" />}
        press={() => changeFontSize(-1)}
      />
      <ToolButton
        name="Larger text"
        icon={<AArrowUp aria-hidden className="size-4" />}
        press={() => changeFontSize(1)}
      />
      <ToolButton name="Split right" icon={<Columns2 aria-hidden className="size-4" />} press={() => split(false)} />
      <ToolButton name="Split below" icon={<Rows2 aria-hidden className="size-4" />} press={() => split(true)} />
      {join && <ToolButton name="Close the split" icon={<Square aria-hidden className="size-4" />} press={join} />}
      <ToolButton
        name={isFull ? 'Leave full screen' : 'Full screen'}
        icon={isFull ? <Minimize aria-hidden className="size-4" /> : <Maximize aria-hidden className="size-4" />}
        press={toggleFull}
      />
      <ToolButton
        name="Screen reader"
        isOn={isRead}
        icon={<Accessibility aria-hidden className="size-4" />}
        press={() => screenReader.choose(isRead ? null : 'on')}
      />
    </div>
  )
}

interface ToolButtonProps {
  name: string
  icon: ReactNode
  press(): void
  /** Whether the button stays pressed. */
  isOn?: boolean
}

function ToolButton({ name, icon, press, isOn }: ToolButtonProps) {
  return (
    <button
      type="button"
      aria-label={name}
      aria-pressed={isOn}
      title={name}
      className={`rounded p-1.5 ${isOn === true ? 'bg-accent-soft text-text' : 'hover:bg-raised'}`}
      onClick={press}
    >
      {icon}
    </button>
  )
}

const sessionsQuery = ({ project, name }: Ref) =>
  queryOptions({
    queryKey: ['sessions', project, name],
    queryFn: async ({ signal }) => {
      const { sessions } = await api().call('listSessions', { path: { project, name }, signal })
      // In the order of their start, so that a tab stays in place when another starts whose name sorts before it.
      return sessions.toSorted((a, b) => Date.parse(a.created_at) - Date.parse(b.created_at)).map((each) => each.name)
    },
  })

/** Returns a name that no session has. */
export function freeName(names: readonly string[]): string {
  for (let number = 2; ; number++) if (!names.includes(`shell-${number}`)) return `shell-${number}`
}

const DEFAULT_PORT = 8080
