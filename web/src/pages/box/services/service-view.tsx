import { useQuery, useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ArrowLeft } from 'lucide-react'
import { api } from '../../../api/client.ts'
import { boxQuery } from '../../../api/queries.ts'
import type { Ref, Service } from '../../../api/records.ts'
import { useRights } from '../../../shell/rights.ts'
import { Ago } from '../../../ui/now.tsx'
import { Loading, Panel } from '../../../ui/page.tsx'
import { Problem } from '../../../ui/problem.tsx'
import { Status } from '../../../ui/status.tsx'
import { Cell, Row, Table } from '../../../ui/table.tsx'
import { CompareVersions } from './compare-versions.tsx'
import { Domains } from './domains.tsx'
import { serviceQuery } from './queries.ts'
import { ServiceActions } from './service-actions.tsx'
import { ServiceLog } from './service-log.tsx'
import { ServiceVersions } from './service-versions.tsx'

/** One service: its versions, their log, its domains and its history. */
export function ServiceView({ box, name }: { box: Ref; name: string }) {
  const { data: service, error, refetch } = useQuery(serviceQuery(box, name))
  return (
    <>
      <Link
        to="/boxes/$project/$name/services"
        params={{ project: box.project, name: box.name }}
        search={{}}
        className="inline-flex items-center gap-1 self-start underline"
      >
        <ArrowLeft aria-hidden className="size-4" /> All services
      </Link>
      {service === undefined && error === null && <Loading />}
      {service === undefined && error !== null && <Problem error={error} retry={() => void refetch()} />}
      {service && <Parts box={box} service={service} />}
    </>
  )
}

function Parts({ box: ref, service }: { box: Ref; service: Service }) {
  const { data: box } = useSuspenseQuery(boxQuery(ref))
  const { canExec, canWrite } = useRights()
  const queries = useQueryClient()
  const { name, active_url: activeUrl, preview_url: previewUrl } = service
  const changeDomains = async (what: 'publish' | 'unpublish', domains: string[]): Promise<void> => {
    const input = { path: { project: ref.project, name: ref.name, service: name }, body: { domains } }
    const after = await api().call(what === 'publish' ? 'publishService' : 'unpublishService', input)
    queries.setQueryData(serviceQuery(ref, name).queryKey, after)
  }
  return (
    <>
      <div className="flex flex-wrap items-center justify-between gap-3">
        <h2 className="flex items-center gap-3 text-lg font-semibold">
          {name}
          <span className="text-sm font-normal">
            <Status status={service.state} />
          </span>
        </h2>
        {canExec && <ServiceActions box={ref} service={service} />}
      </div>
      <ServiceVersions box={box} service={service} />
      {activeUrl !== null && previewUrl !== null && (
        <CompareVersions box={box} activeUrl={activeUrl} previewUrl={previewUrl} />
      )}
      {canExec && <ServiceLog box={ref} service={service} />}
      <Panel title="Domains">
        <Domains domains={service.published_domains} change={canWrite ? changeDomains : null} />
      </Panel>
      <History service={service} />
    </>
  )
}

function History({ service }: { service: Service }) {
  return (
    <>
      <h3 className="font-semibold">History</h3>
      <Table label="History, newest first" head={['Action', 'When', 'By', 'Generation']}>
        {service.history.toReversed().map(({ at, action, actor, generation }) => (
          <Row key={`${at} ${action} ${generation}`}>
            <Cell>{action.replaceAll('_', ' ')}</Cell>
            <Cell>
              <Ago time={at} />
            </Cell>
            <Cell>{actor ?? 'Boxyard'}</Cell>
            <Cell>{generation}</Cell>
          </Row>
        ))}
      </Table>
    </>
  )
}
