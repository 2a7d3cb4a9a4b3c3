import type { ReactNode } from 'react'
import type { Box, Service } from '../../../api/records.ts'
import { Ago } from '../../../ui/now.tsx'
import { Status } from '../../../ui/status.tsx'
import { BoxUrl } from '../box-url.tsx'
import { joinCommand } from '../commands/command-words.ts'

type Version = NonNullable<Service['active']>

/** The versions of a service: the active one, the preview, and the previous one. */
export function ServiceVersions({ box, service }: { box: Box; service: Service }) {
  const { active, preview, previous, active_url: activeUrl, preview_url: previewUrl } = service
  return (
    <div className="grid gap-4 md:grid-cols-2 lg:grid-cols-3">
      <VersionCard
        box={box}
        title="Active"
        about="– receives traffic"
        version={active}
        state={service.state}
        url={activeUrl}
      >
        {service.message}
      </VersionCard>
      {preview && (
        <VersionCard
          box={box}
          title="Preview"
          about={preview.isolation === 'fork' ? '– not live, in a copy of the box' : '– not live'}
          version={preview}
          state={preview.state}
          url={previewUrl}
        >
          {preview.message}
        </VersionCard>
      )}
      {previous && (
        <VersionCard
          box={box}
          title="Previous"
          about="– for rollback"
          version={previous}
          state={previous.alive ? 'running' : 'stopped'}
          url={null}
        />
      )}
    </div>
  )
}

interface VersionCardProps {
  box: Box
  title: string
  about: string
  version: Version | null
  state: string
  url: string | null
  children?: ReactNode
}

function VersionCard({ box, title, about, version, state, url, children }: VersionCardProps) {
  return (
    <section aria-label={title} className="flex min-w-0 flex-col gap-2 rounded-lg border border-line bg-panel p-4">
      <div className="flex flex-wrap items-baseline justify-between gap-2">
        <h3 className="font-semibold">
          {title} <span className="font-normal text-muted">{about}</span>
        </h3>
        <Status status={state} />
      </div>
      {typeof children === 'string' && (
        <pre className="max-h-40 overflow-auto rounded bg-warn-soft p-2 text-xs break-words whitespace-pre-wrap">
          {children}
        </pre>
      )}
      {url !== null && (
        <BoxUrl box={box} url={url} className="wrap-anywhere underline">
          {url}
        </BoxUrl>
      )}
      {version === null ? <p className="text-muted">Not started yet.</p> : <VersionFacts version={version} />}
    </section>
  )
}

function VersionFacts({ version }: { version: Version }) {
  const { spec, health, pid, port, started_at: start, restarts, last_exit: exit } = version
  const facts: [string, ReactNode][] = [
    ['Command', <code key="command">{joinCommand(spec.command)}</code>],
    ['Health', health],
    ['Process', pid ?? '–'],
    ['Port', port ?? '–'],
    ['Started', <Ago key="start" time={start} />],
    ['Restarts', restarts],
    ...(exit === null ? [] : [['Last exit', exitWords(exit)] satisfies [string, string]]),
  ]
  return (
    <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
      {facts.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-muted">{name}</dt>
          <dd className="min-w-0 wrap-anywhere">{value}</dd>
        </div>
      ))}
    </dl>
  )
}

function exitWords({ exit_code: code, signal, out_of_memory: isOut }: NonNullable<Version['last_exit']>): string {
  if (isOut) return 'out of memory'
  if (code !== null) return `exit code ${code}`
  return signal === null ? 'unknown' : `signal ${signal}`
}
