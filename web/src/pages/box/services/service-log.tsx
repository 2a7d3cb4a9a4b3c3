import { useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { readEventStream } from '../../../api/event-stream.ts'
import type { Ref, Service } from '../../../api/records.ts'
import { sessionFetch } from '../../../api/session.ts'
import { usePageSearch } from '../../../shell/page-search.ts'
import { FilterSelect } from '../../../ui/field.tsx'
import { Panel } from '../../../ui/page.tsx'
import { createOutputFeed } from '../commands/output-feed.ts'
import { NO_OUTPUT, type OutputLog } from '../commands/output-log.ts'
import { OutputView } from '../commands/output-view.tsx'

const VERSIONS = ['active', 'preview', 'previous'] as const

/** What a version of a service writes, as it writes it. */
export function ServiceLog({ box, service }: { box: Ref; service: Service }) {
  const { log: version = 'active' } = usePageSearch<{ log: string }>()
  const navigate = useNavigate()
  const log = useServiceLog(box, service.name, version)
  const there = VERSIONS.filter((each) => each === 'active' || service[each] !== null)
  return (
    <Panel
      title="Log"
      actions={
        <FilterSelect
          label="Version"
          value={version}
          onChange={(event) =>
            void navigate({
              to: '/boxes/$project/$name/services',
              params: { project: box.project, name: box.name },
              search: { service: service.name, log: event.target.value },
              replace: true,
            })
          }
        >
          {there.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </FilterSelect>
      }
    >
      <OutputView label={`Log of ${service.name}`} log={log} empty="It has written nothing yet." />
    </Panel>
  )
}

function useServiceLog({ project, name }: Ref, service: string, version: string): OutputLog {
  const [log, setLog] = useState<OutputLog>(NO_OUTPUT)
  useEffect(() => {
    const stop = new AbortController()
    setLog(NO_OUTPUT)
    const path = `/v1/projects/${project}/boxes/${name}/services/${service}/logs?version=${version}`
    void followLog(path, { onLog: setLog, signal: stop.signal })
    return () => stop.abort()
  }, [project, name, service, version])
  return log
}

/** Follows a log until `signal` aborts; a stream that is lost goes on where it was. */
async function followLog(path: string, { onLog, signal }: { onLog(log: OutputLog): void; signal: AbortSignal }) {
  const feed = createOutputFeed(NO_OUTPUT, (log) => signal.aborted || onLog(log))
  const encoder = new TextEncoder()
  let offset = ''
  while (!signal.aborted) {
    try {
      const more = offset === '' ? '' : `&offset=${offset}`
      const request = new Request(path + more, { headers: { accept: 'text/event-stream' }, signal })
      const response = await sessionFetch(request)
      if (!response.ok || response.body === null) return
      for await (const message of readEventStream(response.body)) {
        if (message.id !== '') offset = message.id
        if (message.name === 'problem') break
        if (message.data === '') continue
        const piece: unknown = JSON.parse(message.data)
        if (hasData(piece)) await feed.take({ stream: 'stdout', bytes: encoder.encode(piece.data) })
      }
    } catch {
      // The reason does not matter: it is tried again.
    }
    if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
}

function hasData(piece: unknown): piece is { data: string } {
  return typeof piece === 'object' && piece !== null && 'data' in piece && typeof piece.data === 'string'
}

const PAUSE_MS = 1_000
