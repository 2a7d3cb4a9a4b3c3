import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ExternalLink } from 'lucide-react'
import { boxSnapshotsQuery } from '../../api/queries.ts'
import type { Box, BoxMetrics } from '../../api/records.ts'
import { CopyButton } from '../../ui/copy.tsx'
import { Ago } from '../../ui/now.tsx'
import { Meter, Panel } from '../../ui/page.tsx'
import { Status } from '../../ui/status.tsx'
import { bytesText, countWords, spanText } from '../../ui/words.ts'
import { BoxUrl } from './box-url.tsx'
import { servicesQuery } from './services/queries.ts'
import { newestFirst } from './snapshots/queries.ts'

/** Shows URLs and services of a box, its use, its volumes and its last snapshot. */
export function BoxSummary({ box, last }: { box: Box; last: BoxMetrics | null }) {
  return (
    <div className="grid gap-4 lg:grid-cols-2">
      <UrlPanel box={box} />
      <UsePanel box={box} last={last} />
      <VolumePanel box={box} />
      <SnapshotPanel box={box} />
    </div>
  )
}

/** Lists the URLs of the box and its services, with states. */
function UrlPanel({ box }: { box: Box }) {
  const { data: services = [] } = useQuery(servicesQuery(box))
  const shown = services.slice(0, SHOWN)
  return (
    <Panel title="URLs and services" actions={<PartLink box={box} part="services" words="Services" />}>
      <ul className="flex flex-col gap-2">
        {box.url !== null && (
          <li>
            <UrlLine box={box} url={box.url} name={box.port === null ? 'Box' : `Port ${box.port}`} />
          </li>
        )}
        {shown.map(({ name, state, active_url: url }) => (
          <li key={name} className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <Status status={state} />
            {url === null ? <span className="font-medium">{name}</span> : <UrlLine box={box} url={url} name={name} />}
          </li>
        ))}
      </ul>
      {services.length > SHOWN && <p className="mt-2 text-muted">and {services.length - SHOWN} more</p>}
      {services.length === 0 && <p className="mt-2 text-muted">No services yet.</p>}
      <p className="mt-2 text-muted">
        {box.url_settings.auth === 'public' ? 'Public.' : 'Anyone with a project token.'} {sleepText(box)}
      </p>
    </Panel>
  )
}

function UrlLine({ box, url, name }: { box: Box; url: string; name: string }) {
  return (
    <span className="flex min-w-0 items-center gap-1.5">
      <span className="font-medium">{name}</span>
      <BoxUrl box={box} url={url} className="inline-flex min-h-6 min-w-0 items-center wrap-anywhere underline">
        {new URL(url).host}
      </BoxUrl>
      <ExternalLink aria-hidden className="size-3.5 shrink-0 text-muted" />
      <CopyButton text={url} label={`Copy the URL of ${name}`} />
    </span>
  )
}

/** Shows use and size. */
function UsePanel({ box: { config }, last }: { box: Box; last: BoxMetrics | null }) {
  const memory = last?.memory.used_bytes ?? null
  const disk = last?.storage.used_bytes ?? null
  const [memoryMax, diskMax] = [config.ram_mb * 2 ** 20, config.storage_gb * 2 ** 30]
  return (
    <Panel title="Size">
      <div className="flex flex-col gap-3">
        <p className="flex justify-between gap-3">
          <span>CPU</span>
          <span className="text-muted">{countWords(config.cpus, 'core')}</span>
        </p>
        <Meter
          name="Memory"
          isRoom
          used={memory ?? 0}
          total={memoryMax}
          words={`${bytesText(memory)} of ${bytesText(memoryMax)}`}
        />
        <Meter
          name="Disk"
          isRoom
          used={disk ?? 0}
          total={diskMax}
          words={`${bytesText(disk)} of ${bytesText(diskMax)}`}
        />
      </div>
    </Panel>
  )
}

function VolumePanel({ box: { project, data_mounts: mounts } }: { box: Box }) {
  return (
    <Panel title="Volumes">
      {mounts.length === 0 ? (
        <p className="text-muted">No volumes attached.</p>
      ) : (
        <ul className="flex flex-col gap-1.5">
          {mounts.map(({ name, path, read_only: isReadOnly }) => (
            <li key={name} className="flex flex-wrap items-center gap-x-3">
              <Link
                to="/volumes/$project/$name"
                params={{ project, name }}
                preload={false}
                className="inline-flex min-h-6 items-center font-medium underline"
              >
                {name}
              </Link>
              <code className="text-xs break-all">{path}</code>
              {isReadOnly && <span className="text-muted">read-only</span>}
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}

function SnapshotPanel({ box }: { box: Box }) {
  const { data: snapshots } = useQuery(boxSnapshotsQuery(box))
  const [newest] = newestFirst(snapshots ?? [])
  return (
    <Panel title="Last snapshot" actions={<PartLink box={box} part="snapshots" words="Snapshots" />}>
      {newest === undefined ? (
        <p className="text-muted">{snapshots === undefined ? '–' : 'No snapshots yet.'}</p>
      ) : (
        <p>
          <span className="font-medium">{newest.name}</span>{' '}
          <span className="text-muted">
            <Ago time={newest.created_at} />
            {newest.comment !== null && `, ${newest.comment}`}
          </span>
        </p>
      )}
    </Panel>
  )
}

function PartLink({ box, part, words }: { box: Box; part: 'services' | 'snapshots'; words: string }) {
  return (
    <Link
      to={`/boxes/$project/$name/${part}`}
      params={{ project: box.project, name: box.name }}
      aria-label={`All ${words.toLowerCase()}`}
      className="inline-flex min-h-6 items-center text-muted hover:underline"
    >
      All
    </Link>
  )
}

/** Describes sleep and wake. */
function sleepText({ url_settings: { idle_stop_seconds: seconds, wake } }: Box): string {
  const sleeps = seconds === null ? 'Never sleeps.' : `Sleeps after ${spanText(seconds)} without use.`
  return wake ? `${sleeps} A request wakes it.` : sleeps
}

const SHOWN = 6
