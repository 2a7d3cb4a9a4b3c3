import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ArrowLeft } from 'lucide-react'
import { useEffect, useState } from 'react'
import type { ExecRecord, Ref } from '../../../api/records.ts'
import { CodeLine } from '../../../ui/copy.tsx'
import { Ago } from '../../../ui/now.tsx'
import { Loading, Panel } from '../../../ui/page.tsx'
import { Problem } from '../../../ui/problem.tsx'
import { Status } from '../../../ui/status.tsx'
import { spanText } from '../../../ui/words.ts'
import { commandText } from './command-words.ts'
import { createOutputFeed } from './output-feed.ts'
import { NO_OUTPUT, type OutputLog, withOutput } from './output-log.ts'
import { OutputView } from './output-view.tsx'
import { execQuery, execsQuery, execWords, followOutput } from './queries.ts'
import { SignalCommand } from './signal-command.tsx'

/** One command: what it is, how it ended, and what it wrote; followed while it runs. */
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
      {record === undefined && error === null && <Loading what="Reading" />}
      {record && <RecordView box={box} record={record} />}
    </>
  )
}

function RecordView({ box, record }: { box: Ref; record: ExecRecord }) {
  const log = useRecordLog(box, record)
  const of = (stream: string): OutputLog => ({ ...log, blocks: log.blocks.filter((block) => block.stream === stream) })
  const end = record.ended_at === null ? Date.now() : Date.parse(record.ended_at)
  const facts: [string, React.ReactNode][] = [
    ['State', <Status key="state" status={execWords(record)} />],
    ['Started', <Ago key="started" time={record.started_at} />],
    ['Took', record.ended_at === null ? 'runs' : spanText((end - Date.parse(record.started_at)) / 1000)],
    ['User', record.user],
    ['Directory', <code key="cwd">{record.cwd}</code>],
    ['Process', record.process ?? '–'],
    ['Goes on by itself', record.detached ? 'yes' : 'no'],
    ['Id', <code key="id">{record.id}</code>],
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
          <OutputView label={stream} log={of(stream)} empty="Nothing was written to it." />
        </Panel>
      ))}
    </>
  )
}

/** Returns the output that a record tells, with what comes after it while the command runs. */
function useRecordLog(box: Ref, record: ExecRecord): OutputLog {
  const queries = useQueryClient()
  const [more, setMore] = useState<{ of: ExecRecord; log: OutputLog } | null>(null)
  const start = logOf(record)
  useEffect(() => {
    if (record.status !== 'running') return undefined
    const stop = new AbortController()
    const feed = createOutputFeed(logOf(record), (log) => setMore({ of: record, log }))
    const follow = async (): Promise<void> => {
      for await (const piece of followOutput(record, stop.signal)) await feed.take(piece)
      feed.end()
      await queries.invalidateQueries({ queryKey: execsQuery(box).queryKey })
    }
    // What fails is seen by the read of the record, which is repeated by hand.
    follow().catch(() => undefined)
    return () => stop.abort()
  }, [record, box, queries])
  return more?.of === record ? more.log : start
}

function logOf({ stdout, stderr, truncated }: ExecRecord): OutputLog {
  const pieces = [
    { stream: 'stdout' as const, text: stdout },
    { stream: 'stderr' as const, text: stderr },
  ]
  const log = withOutput(
    NO_OUTPUT,
    pieces.filter(({ text }) => text !== ''),
  )
  return { ...log, isCut: log.isCut || truncated }
}
