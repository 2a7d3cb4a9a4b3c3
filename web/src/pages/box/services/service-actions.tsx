import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api } from '../../../api/client.ts'
import type { Ref, Service } from '../../../api/records.ts'
import { useRights } from '../../../shell/rights.ts'
import { Button } from '../../../ui/button.tsx'
import { Confirm } from '../../../ui/confirm.tsx'
import { tell, tellError } from '../../../ui/toasts.tsx'
import { DefineService } from './define-service.tsx'
import { DeployService } from './deploy-service.tsx'
import { servicesQuery } from './queries.ts'
import { discardWords, previousWords, stopWords } from './service-words.ts'
import { useServiceAct } from './use-service-act.ts'

type Asking = 'deploy' | 'define' | 'discard' | 'stop' | 'delete'

/** Actions on a service in its current state. */
export function ServiceActions({ box, service }: { box: Ref; service: Service }) {
  const { canWrite } = useRights()
  const { mutate: act, isPending } = useServiceAct(box, service.name)
  const remove = useRemove(box)
  const [asking, setAsking] = useState<Asking | null>(null)
  const close = (): void => setAsking(null)
  const isStopped = service.state === 'stopped' || service.state === 'failed'
  return (
    <div className="flex flex-wrap gap-2">
      {service.preview && (
        <>
          <Button
            kind="primary"
            disabled={isPending || service.preview.state !== 'running'}
            onClick={() => act('promoteService')}
          >
            Promote preview
          </Button>
          <Button disabled={isPending} onClick={() => setAsking('discard')}>
            Discard preview
          </Button>
        </>
      )}
      <Button onClick={() => setAsking('deploy')}>Deploy version</Button>
      {service.previous && (
        <Button disabled={isPending} title={previousWords(service)} onClick={() => act('rollbackService')}>
          Roll back
        </Button>
      )}
      <Button disabled={isPending} onClick={() => (isStopped ? act('startService') : setAsking('stop'))}>
        {isStopped ? 'Start service' : 'Stop service'}
      </Button>
      {canWrite && <Button onClick={() => setAsking('define')}>Edit</Button>}
      <Button kind="danger" onClick={() => setAsking('delete')} aria-label={`Delete ${service.name}`}>
        Delete
      </Button>
      <DeployService box={box} service={service} isOpen={asking === 'deploy'} close={close} />
      <DefineService box={box} service={service} isOpen={asking === 'define'} close={close} />
      <Confirm
        title={`Discard the preview of ${service.name}?`}
        about={discardWords(service)}
        action="Discard preview"
        isOpen={asking === 'discard'}
        close={close}
        act={() => act('discardService')}
      />
      <Confirm
        title={`Stop the service ${service.name}?`}
        about={stopWords(service)}
        action="Stop service"
        isOpen={asking === 'stop'}
        close={close}
        act={() => act('stopService')}
      />
      <Confirm
        title={`Delete the service ${service.name}?`}
        about="This kills its processes and permanently deletes its definition, history and log. Files of the box stay."
        action="Delete"
        typed={service.name}
        isOpen={asking === 'delete'}
        close={close}
        act={() => remove(service.name)}
      />
    </div>
  )
}

function useRemove(box: Ref): (service: string) => void {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const params = { project: box.project, name: box.name }
  const remove = useMutation({
    mutationFn: (service: string) => api().call('deleteService', { path: { ...params, service } }),
    onSuccess: async (_, service) => {
      tell(`Deleted service ${service}.`)
      await navigate({ to: '/boxes/$project/$name/services', params, search: {} })
      await queries.invalidateQueries({ queryKey: servicesQuery(box).queryKey })
    },
    onError: tellError,
  })
  return remove.mutate
}
