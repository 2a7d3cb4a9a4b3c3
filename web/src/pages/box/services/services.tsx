import { useSuspenseQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { boxQuery } from '../../../api/queries.ts'
import type { Box, Ref, Service } from '../../../api/records.ts'
import { usePageSearch } from '../../../shell/page-search.ts'
import { useRights } from '../../../shell/rights.ts'
import { Button } from '../../../ui/button.tsx'
import { Empty } from '../../../ui/page.tsx'
import { Status } from '../../../ui/status.tsx'
import { Cell, Row, Table } from '../../../ui/table.tsx'
import { useBoxRef } from '../box.tsx'
import { BoxUrl } from '../box-url.tsx'
import { joinCommand } from '../commands/command-words.ts'
import { BoxAccess } from './box-access.tsx'
import { DefineService } from './define-service.tsx'
import { servicesQuery } from './queries.ts'
import { ServiceView } from './service-view.tsx'

/** The services of a box with its URLs, or the service that the address names. */
export function ServicesPage() {
  const box = useBoxRef()
  const { service } = usePageSearch<{ service: string }>()
  return (
    <div className="flex w-full max-w-6xl flex-col gap-5 p-4 md:p-6">
      {service === undefined ? <AllServices box={box} /> : <ServiceView key={service} box={box} name={service} />}
    </div>
  )
}

function AllServices({ box: ref }: { box: Ref }) {
  const { data: box } = useSuspenseQuery(boxQuery(ref))
  const { data: services } = useSuspenseQuery(servicesQuery(ref))
  const { canExec } = useRights()
  const [isDefining, setDefining] = useState(false)
  return (
    <>
      <div className="flex flex-wrap items-center justify-between gap-3">
        <h2 className="text-lg font-semibold">Services</h2>
        {canExec && (
          <Button kind="primary" onClick={() => setDefining(true)}>
            Add service
          </Button>
        )}
      </div>
      {services.length === 0 ? (
        <Empty title="No services yet">
          A service starts with its box and restarts when it exits.{' '}
          {canExec ? 'Add one here' : 'To add one, ask for a token with exec permission'}, or run{' '}
          <code>boxyard service put {box.name} site …</code>.
        </Empty>
      ) : (
        <Table label="Services" head={['Name', 'State', 'Preview', 'Port', 'URL', 'Command']}>
          {services.map((service) => (
            <ServiceRow key={service.name} box={box} service={service} />
          ))}
        </Table>
      )}
      <BoxAccess box={box} />
      <DefineService box={ref} service={null} isOpen={isDefining} close={() => setDefining(false)} />
    </>
  )
}

function ServiceRow({ box, service }: { box: Box; service: Service }) {
  const { name, state, preview, spec, active_url: url, message } = service
  return (
    <Row>
      <Cell>
        <Link
          to="/boxes/$project/$name/services"
          params={{ project: box.project, name: box.name }}
          search={{ service: name }}
          preload={false}
          className="font-medium underline"
        >
          {name}
        </Link>
      </Cell>
      <Cell>
        <Status status={state} title={message ?? undefined} />
      </Cell>
      <Cell>{preview === null ? '–' : <Status status={preview.state} />}</Cell>
      <Cell>{spec.port ?? '–'}</Cell>
      <Cell>
        {url === null ? (
          '–'
        ) : (
          <BoxUrl box={box} url={url} className="whitespace-nowrap underline">
            {new URL(url).host}
          </BoxUrl>
        )}
      </Cell>
      <Cell>
        <code className="text-xs whitespace-nowrap">{joinCommand(spec.command)}</code>
      </Cell>
    </Row>
  )
}
