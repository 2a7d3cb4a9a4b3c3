import { useSuspenseQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { boxQuery } from '../../../api/queries.ts'
import type { ExecLine, Ref } from '../../../api/records.ts'
import { usePageSearch } from '../../../shell/page-search.ts'
import { useRights } from '../../../shell/rights.ts'
import { Button } from '../../../ui/button.tsx'
import { FilterSelect } from '../../../ui/field.tsx'
import { Ago } from '../../../ui/now.tsx'
import { Empty } from '../../../ui/page.tsx'
import { Status } from '../../../ui/status.tsx'
import { VirtualRows } from '../../../ui/virtual-rows.tsx'
import { spanText } from '../../../ui/words.ts'
import { useBoxRef } from '../box.tsx'
import { CommandRecord } from './command-record.tsx'
import { commandText } from './command-words.ts'
import { execsQuery, execWords } from './queries.ts'
import { RunCommand } from './run-command.tsx'

/** The commands of a box: a form to run one, a list of all, or the one that the address names. */
export function CommandsPage() {
  const box = useBoxRef()
  const { exec } = usePageSearch<{ exec: string }>()
  const { canExec } = useRights()
  if (!canExec) {
    return (
      <div className="p-6">
        <Empty title="This token cannot run commands">Ask for a token with exec permission.</Empty>
      </div>
    )
  }
  return (
    <div className="flex w-full max-w-6xl flex-col gap-5 p-4 md:p-6">
      {exec === undefined ? <AllCommands box={box} /> : <CommandRecord key={exec} box={box} exec={exec} />}
    </div>
  )
}

function AllCommands({ box: ref }: { box: Ref }) {
  const { data: box } = useSuspenseQuery(boxQuery(ref))
  const { data: execs, refetch, isFetching } = useSuspenseQuery(execsQuery(ref))
  const { status = '' } = usePageSearch<{ status: string }>()
  const navigate = useNavigate()
  const shown = execs.filter((exec) => status === '' || exec.status === status)
  const choose = (chosen: string): void => {
    const search = chosen === '' ? {} : { status: chosen }
    void navigate({ to: '/boxes/$project/$name/commands', params: ref, search, replace: true })
  }
  return (
    <>
      {box.status === 'running' ? (
        <RunCommand box={ref} />
      ) : (
        <Empty title={`${box.name} is ${box.status}`}>Start the box to run a command.</Empty>
      )}
      <div className="flex flex-wrap items-center gap-3">
        <h2 className="text-lg font-semibold">Commands</h2>
        <FilterSelect label="State" value={status} onChange={(event) => choose(event.target.value)}>
          <option value="">All states</option>
          {STATES.map((each) => (
            <option key={each} value={each}>
              {each.replaceAll('_', ' ')}
            </option>
          ))}
        </FilterSelect>
        <Button disabled={isFetching} onClick={() => void refetch()}>
          Refresh
        </Button>
        <span className="text-muted">{shown.length} shown</span>
      </div>
      {shown.length === 0 ? (
        <Empty title={execs.length === 0 ? 'No commands yet' : 'No commands match'}>
          Boxyard keeps the last 1,000 commands of a box, with the end of their output.
        </Empty>
      ) : (
        <VirtualRows label="Commands, newest first" items={shown} rowPx={41} keyOf={({ id }) => id}>
          {(exec) => <CommandRow box={ref} exec={exec} />}
        </VirtualRows>
      )}
    </>
  )
}

function CommandRow({ box, exec }: { box: Ref; exec: ExecLine }) {
  const { id, command, user, started_at: start, ended_at: end } = exec
  return (
    <div className="flex flex-wrap items-baseline gap-x-4 gap-y-0.5 px-3 py-2">
      <span className="min-w-0 flex-1 basis-60 truncate">
        <Link
          to="/boxes/$project/$name/commands"
          params={{ project: box.project, name: box.name }}
          search={{ exec: id }}
          preload={false}
          className="font-mono text-xs hover:underline"
        >
          {commandText(command)}
        </Link>
      </span>
      <span className="w-40 whitespace-nowrap">
        <Status status={execWords(exec)} />
      </span>
      <span className="w-20 truncate text-xs text-muted max-md:hidden">{user}</span>
      <span className="w-20 text-xs text-muted tabular-nums max-md:hidden">
        {end === null ? 'running' : spanText((Date.parse(end) - Date.parse(start)) / 1000)}
      </span>
      <span className="w-24 text-right text-xs text-muted">
        <Ago time={start} />
      </span>
    </div>
  )
}

const STATES: readonly ExecLine['status'][] = ['running', 'exited', 'killed', 'timed_out', 'out_of_memory', 'lost']
