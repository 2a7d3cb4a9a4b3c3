import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { healthQuery, projectsQuery, versionQuery } from '../api/queries.ts'
import type { Health } from '../api/records.ts'
import { useRights } from '../shell/rights.ts'
import { buttonStyle } from '../ui/button.tsx'
import { Figure, Meter, Page, Panel } from '../ui/page.tsx'
import { Status } from '../ui/status.tsx'
import { bytesText, countWords } from '../ui/words.ts'
import { FirstSteps } from './boxes/first-steps.tsx'
import { LastEvents } from './event-list.tsx'
import { boxCounts } from './projects/project-rows.ts'

/** Health with evidence and remedies, host and pool, counts, and the last events. */
export function Overview() {
  const { data: health } = useSuspenseQuery(healthQuery)
  const { data: version } = useQuery(versionQuery)
  const { canRead, canWrite } = useRights()
  const { data: projects } = useQuery({ ...projectsQuery, enabled: canRead })
  const hasBoxes = projects?.some(({ boxes }) => boxes.running + boxes.stopped + boxes.other > 0) === true || !canRead
  return (
    <Page
      title="Overview"
      actions={
        canWrite &&
        hasBoxes && (
          <Link to="/boxes" search={{ create: 'box' }} className={buttonStyle('primary')}>
            Create box
          </Link>
        )
      }
    >
      <HealthPanel health={health} version={version?.version} />
      {canRead && <Counts />}
      {health.host && <HostPanel host={health.host} />}
      {(health.kubernetes?.nodes.length ?? 0) > 0 && <NodesPanel nodes={health.kubernetes?.nodes ?? []} />}
      {canRead && (
        <Panel title="Activity">
          <LastEvents most={12} />
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
        <p>All systems normal</p>
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

/** Number of boxes, at all cells of a fleet, because health covers one cell. */
function Counts() {
  const { data: projects } = useQuery(projectsQuery)
  if (!projects) return null
  const { running, stopped, other } = boxCounts(projects)
  if (running + stopped + other === 0) return <FirstSteps />
  const shown = [
    { name: 'Running', value: running, note: boxWord(running), to: '/boxes', search: { status: 'running' } },
    { name: 'Stopped', value: stopped, note: boxWord(stopped), to: '/boxes', search: { status: 'stopped' } },
    { name: 'Pending or unknown', value: other, note: boxWord(other), to: '/boxes', search: { sort: 'status' } },
    {
      name: 'Projects',
      value: projects.length,
      note: 'with resources',
      to: '/projects',
      search: {},
    },
  ] as const
  return (
    <ul aria-label="Boxes" className="grid grid-cols-2 gap-3 lg:grid-cols-4">
      {shown.map(({ name, value, note, to, search }) => (
        <li key={name}>
          <Link to={to} search={search} className="block rounded-lg hover:opacity-80">
            <Figure name={name} value={value} note={note} />
          </Link>
        </li>
      ))}
    </ul>
  )
}

function boxWord(count: number): string {
  return count === 1 ? 'box' : 'boxes'
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
          words={`${cpu.load_avg_1.toFixed(2)} on ${countWords(cpu.cores, 'core')}${cpu.load_avg_1 > cpu.cores ? ', all busy' : ''}`}
        />
        <Meter
          name="Memory"
          isRoom
          used={memory.used_bytes}
          total={memory.total_bytes}
          words={words(memory.used_bytes, memory.total_bytes)}
        />
        {storage && (
          <Meter
            name="Data directory"
            isRoom
            used={storage.used_bytes}
            total={storage.total_bytes}
            words={words(storage.used_bytes, storage.total_bytes)}
          />
        )}
        {pools.map(({ path, used_bytes, total_bytes }) => (
          <Meter
            key={path}
            name="Pool"
            isRoom
            used={used_bytes}
            total={total_bytes}
            words={words(used_bytes, total_bytes)}
          />
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
          <li key={node.name} className="grid gap-2 md:grid-cols-2 md:items-center md:gap-4">
            <div>
              <div className="flex flex-wrap items-center gap-x-3">
                <span className="font-medium">{node.name}</span>
                <Status status={node.ready ? 'ready' : 'lost'} />
              </div>
              <p className="mt-1 text-xs text-muted">
                <Link to="/boxes" search={{ node: node.name }} className="underline">
                  Show boxes
                </Link>
                {` · ${node.cpu_allocatable} ${node.cpu_allocatable === '1' ? 'core' : 'cores'} and ${bytesText(node.memory_allocatable_bytes)} of memory for pods`}
              </p>
            </div>
            <Meter
              name="Pods"
              isRoom
              used={node.pods_running}
              total={node.pods_capacity}
              words={`${node.pods_running} of ${countWords(node.pods_capacity, 'pod')}`}
            />
          </li>
        ))}
      </ul>
    </Panel>
  )
}
