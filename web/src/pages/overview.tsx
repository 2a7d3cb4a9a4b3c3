import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { healthQuery, versionQuery } from '../api/queries.ts'
import type { Health } from '../api/records.ts'
import { useRights } from '../shell/rights.ts'
import { buttonStyle } from '../ui/button.tsx'
import { Empty, Figure, Meter, Page, Panel } from '../ui/page.tsx'
import { Status } from '../ui/status.tsx'
import { bytesText } from '../ui/words.ts'
import { EventList } from './event-list.tsx'

/** Health with evidence and remedies, host and pool, counts, and what happens now. */
export function Overview() {
  const { data: health } = useSuspenseQuery(healthQuery)
  const { data: version } = useQuery(versionQuery)
  const { canRead, canWrite } = useRights()
  return (
    <Page
      title="Overview"
      actions={
        canWrite && (
          <Link to="/boxes" search={{ create: 'box' }} className={buttonStyle('primary')}>
            Create a box
          </Link>
        )
      }
    >
      <HealthPanel health={health} version={version?.version} />
      {health.boxes && <Counts boxes={health.boxes} />}
      {health.host && <HostPanel host={health.host} />}
      {(health.kubernetes?.nodes.length ?? 0) > 0 && <NodesPanel nodes={health.kubernetes?.nodes ?? []} />}
      {canRead && (
        <Panel title="Happening now">
          <EventList most={12} />
        </Panel>
      )}
    </Page>
  )
}

function HealthPanel({ health, version }: { health: Health; version: string | undefined }) {
  const problems = health.problems ?? []
  return (
    <Panel
      title="Health"
      actions={
        <span className="flex items-center gap-3 text-muted">
          {version !== undefined && <span>version {version}</span>}
          <Status status={health.status} />
        </span>
      }
    >
      {problems.length === 0 ? (
        <p>Nothing is wrong.</p>
      ) : (
        <ul className="flex flex-col gap-3">
          {problems.map(({ code, evidence, remedy }) => (
            <li key={`${code} ${evidence}`} className="rounded-md bg-warn-soft p-3">
              <p className="font-medium">{evidence}</p>
              <p className="mt-1">{remedy}</p>
              <p className="mt-1 font-mono text-xs text-muted">{code}</p>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}

function Counts({ boxes }: { boxes: NonNullable<Health['boxes']> }) {
  if (boxes.total === 0) {
    return (
      <Empty title="No boxes yet">
        Create the first one, or type <code>boxyard create web</code>.
      </Empty>
    )
  }
  const shown = [
    ['Running', boxes.running, 'running'],
    ['Stopped', boxes.stopped, 'stopped'],
    ['Pending', boxes.pending, 'pending'],
    ['Unknown', boxes.unknown, 'unknown'],
  ] as const
  return (
    <ul aria-label="Boxes" className="grid grid-cols-2 gap-3 lg:grid-cols-4">
      {shown.map(([name, count, status]) => (
        <li key={status}>
          <Link to="/boxes" search={{ status }} className="block rounded-lg hover:opacity-80">
            <Figure name={name} value={count} note="boxes" />
          </Link>
        </li>
      ))}
    </ul>
  )
}

function HostPanel({ host }: { host: NonNullable<Health['host']> }) {
  const { cpu, memory, storage, storage_mounts: pools } = host
  const words = (used: number, total: number): string => `${bytesText(used)} of ${bytesText(total)}`
  return (
    <Panel title="Host">
      <div className="grid gap-4 md:grid-cols-2">
        <Meter
          name="Load"
          used={cpu.load_avg_1}
          total={cpu.cores}
          words={`${cpu.load_avg_1.toFixed(2)} on ${cpu.cores} cores`}
        />
        <Meter
          name="Memory"
          used={memory.used_bytes}
          total={memory.total_bytes}
          words={words(memory.used_bytes, memory.total_bytes)}
        />
        {storage && (
          <Meter
            name="Disk of the data directory"
            used={storage.used_bytes}
            total={storage.total_bytes}
            words={words(storage.used_bytes, storage.total_bytes)}
          />
        )}
        {pools.map(({ path, used_bytes, total_bytes }) => (
          <Meter key={path} name="Pool" used={used_bytes} total={total_bytes} words={words(used_bytes, total_bytes)} />
        ))}
      </div>
    </Panel>
  )
}

function NodesPanel({ nodes }: { nodes: NonNullable<Health['kubernetes']>['nodes'] }) {
  return (
    <Panel title="Nodes">
      <ul className="flex flex-col gap-3">
        {nodes.map((node) => (
          <li key={node.name} className="grid gap-2 md:grid-cols-[14rem_1fr] md:items-center">
            <Status status={node.ready ? 'ready' : 'lost'} title={node.name} />
            <Meter
              name={node.name}
              used={node.pods_running}
              total={node.pods_capacity}
              words={`${node.boxes} boxes, ${node.pods_running} of ${node.pods_capacity} pods`}
            />
          </li>
        ))}
      </ul>
    </Panel>
  )
}
