import { useSuspenseQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { boxQuery } from '../../api/queries.ts'
import type { Box } from '../../api/records.ts'
import { Chart } from '../../ui/chart.tsx'
import { Ago } from '../../ui/now.tsx'
import { Panel } from '../../ui/page.tsx'
import { Chip } from '../../ui/status.tsx'
import { bytesText, countWords } from '../../ui/words.ts'
import { useBoxRef } from './box.tsx'
import { BoxSummary } from './box-summary.tsx'
import { withGaps } from './metrics-history.ts'
import { useReadings } from './readings.ts'

/** The live usage of a box, and its details. */
export function BoxFigures() {
  const ref = useBoxRef()
  const { data: box } = useSuspenseQuery(boxQuery(ref))
  const { last, points } = useReadings({ ...ref, id: box.id, isRunning: box.status === 'running' })
  const lines = useMemo(() => {
    const shown = withGaps(points)
    return {
      times: shown.map(({ at }) => at),
      cores: [shown.map(({ cores }) => cores)],
      memory: [shown.map(({ memoryBytes }) => memoryBytes)],
      disk: [shown.map(({ diskBytes }) => diskBytes)],
      network: [shown.map((point) => point.receivedPerSecond), shown.map((point) => point.sentPerSecond)],
    }
  }, [points])
  return (
    <div className="flex w-full max-w-6xl flex-col gap-5 p-4 md:p-6">
      <BoxSummary box={box} last={last} />
      <h2 className="font-semibold">Metrics</h2>
      <div className="grid gap-4 lg:grid-cols-2">
        <Chart
          title="CPU"
          names={['cores']}
          times={lines.times}
          values={lines.cores}
          words={coresText}
          stepWords={(value) => String(Number(value.toFixed(2)))}
          top={last?.cpu.limit_cores ?? 1}
        />
        <Chart
          title="Memory"
          isBytes
          names={['memory']}
          times={lines.times}
          values={lines.memory}
          words={bytesText}
          top={last?.memory.limit_bytes ?? 0}
        />
        <Chart title="Disk" isBytes names={['disk']} times={lines.times} values={lines.disk} words={bytesText} />
        <Chart
          title="Network"
          isBytes
          names={['received', 'sent']}
          times={lines.times}
          values={lines.network}
          words={rateText}
        />
      </div>
      <BoxFacts box={box} />
    </div>
  )
}

function BoxFacts({ box }: { box: Box }) {
  const { config, tags } = box
  const facts: [string, React.ReactNode][] = [
    ['ID', <code key="id">{box.id}</code>],
    ['State', `${box.status}, ${box.state.reason.replaceAll('_', ' ')}`],
    ['Since', <Ago key="since" time={box.state.since} />],
    ['Created', <Ago key="created" time={box.created_at} />],
    ['Base', box.base ?? '–'],
    ['Forked from', box.fork_of ?? '–'],
    ['Node', box.node],
    ['Size', `${countWords(config.cpus, 'core')}, ${config.ram_mb} MiB, ${config.storage_gb} GiB disk`],
    ['Domains', box.published_domains.join(', ') || '–'],
    ['Tags', Object.entries(tags).map(([key, value]) => <Chip key={key}>{`${key}=${value}`}</Chip>)],
  ]
  return (
    <Panel title="Details">
      <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-1.5">
        {facts.map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-muted">{name}</dt>
            <dd className="min-w-0 break-words">{value}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  )
}

function coresText(value: number): string {
  return countWords(Number(value.toFixed(2)), 'core')
}

function rateText(value: number): string {
  return `${bytesText(value)}/s`
}
