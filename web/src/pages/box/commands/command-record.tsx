import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ArrowLeft } from 'lucide-react'
import { useCallback, useMemo } from 'react'
import type { ExecRecord, Ref } from '../../../api/records.ts'
import { CodeLine } from '../../../ui/copy.tsx'
import { Ago } from '../../../ui/now.tsx'
import { Loading, Panel } from '../../../ui/page.tsx'
import { Problem } from '../../../ui/problem.tsx'
import { Status } from '../../../ui/status.tsx'
import { spanText } from '../../../ui/words.ts'
import { commandText } from './command-words.ts'
import { createOutputFollower } from './output-follower.ts'
import { NO_OUTPUT, type OutputLog, withOutput } from './output-log.ts'
import { OutputView } from './output-view.tsx'
import { execQuery, execSource, execsQuery, execWords, readAllOfExec, waitForExec } from './queries.ts'
import { SignalCommand } from './signal-command.tsx'
import { useOutput } from './use-output.ts'

/** Shows one command, how it ended, and its output, followed while it runs. */
export function CommandRecord({ box, exec }: { box: Ref; exec: string }) {
  const { data: record, error, refetch } = useQuery(execQuery(box, exec))
  return (
    <>
      <Link
        to="/boxes/$project/$name/commands"
        params={{ project: box.project, name: box.name }}
        search={{}}
        className="inline-flex items-center gap-1 self-start underline"
      >
        <ArrowLeft aria-hidden className="size-4" /> All commands
      </Link>
      {error !== null && record === undefined && <Problem error={error} retry={() => void refetch()} />}
      {record === undefined && error === null && <Loading />}
      {record && <RecordView box={box} record={record} />}
    </>
  )
}

function RecordView({ box, record }: { box: Ref; record: ExecRecord }) {
  const end = record.ended_at === null ? Date.now() : Date.parse(record.ended_at)
  const facts: [string, React.ReactNode][] = [
    ['State', <Status key="state" status={execWords(record)} />],
    ['Started', <Ago key="started" time={record.started_at} />],
    ['Duration', record.ended_at === null ? 'running' : spanText((end - Date.parse(record.started_at)) / 1000)],
    ['User', record.user],
    ['Directory', <code key="cwd">{record.cwd}</code>],
    ['Process', record.process ?? '–'],
    ['Detached', record.detached ? 'yes' : 'no'],
    ['ID', <code key="id">{record.id}</code>],
  ]
  return (
    <>
      <Panel title="Command" actions={record.status === 'running' && <SignalCommand box={box} exec={record.id} />}>
        <CodeLine text={commandText(record.command)} />
        <dl className="mt-3 grid grid-cols-[auto_1fr] gap-x-6 gap-y-1 sm:grid-cols-[auto_1fr_auto_1fr]">
          {facts.map(([name, value]) => (
            <div key={name} className="contents">
              <dt className="text-muted">{name}</dt>
              <dd className="min-w-0 break-all">{value}</dd>
            </div>
          ))}
        </dl>
      </Panel>
      {(['stdout', 'stderr'] as const).map((stream) => (
        <Panel key={stream} title={record.tty ? 'Terminal' : stream}>
          <StreamView record={record} stream={stream} />
        </Panel>
      ))}
    </>
  )
}

/** A stream whose end is in the record, with the output that follows while the command runs. */
function StreamView({ record, stream }: { record: ExecRecord; stream: 'stdout' | 'stderr' }) {
  const queries = useQueryClient()
  const follower = useMemo(() => {
    const follow = execSource({ path: pathOf(record), stream, offset: record.next_offset[stream] })
    return createOutputFollower(logOf(record, stream), async (taker) => {
      if (record.status !== 'running') return
      await follow(taker)
      // A stream may end long before its command.
      if (stream === 'stdout') await waitForExec(pathOf(record), taker)
    })
  }, [record, stream])
  const refresh = useCallback((): void => {
    if (record.status !== 'running' || stream !== 'stdout') return
    const box = { project: record.project, name: record.box }
    void queries.invalidateQueries({ queryKey: execsQuery(box).queryKey })
  }, [queries, record, stream])
  const output = useOutput(follower, refresh)
  const whole = {
    fileName: `${record.id}.${stream}.txt`,
    read: () => readAllOfExec({ path: pathOf(record), stream }),
  }
  return <OutputView label={stream} output={output} empty="No output." whole={whole} />
}

function pathOf({ project, box, id }: ExecRecord) {
  return { project, name: box, exec: id }
}

function logOf(record: ExecRecord, stream: 'stdout' | 'stderr'): OutputLog {
  const text = record[stream]
  const log = withOutput(NO_OUTPUT, text === '' ? [] : [{ stream, text }])
  return { ...log, isCut: log.isCut || record.truncated }
}
