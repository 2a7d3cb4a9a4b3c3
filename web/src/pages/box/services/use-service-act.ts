import { useMutation, useQueryClient } from '@tanstack/react-query'
import { api } from '../../../api/client.ts'
import type { Ref } from '../../../api/records.ts'
import { tell, tellError } from '../../../ui/toasts.tsx'
import { boxResource } from '../../../ui/undo-end.ts'
import { serviceQuery, servicesQuery } from './queries.ts'

/** Actions on a service without further questions. */
export type ServiceAct = 'startService' | 'stopService' | 'promoteService' | 'rollbackService' | 'discardService'

/** Starts, stops, promotes, rolls back and discards, and offers undo. */
export function useServiceAct(box: Ref, service: string) {
  const queries = useQueryClient()
  const act = useMutation({
    mutationFn: async (what: ServiceAct) => {
      const path = { project: box.project, name: box.name, service }
      const { headers } = await api().callFully(what, { path })
      const operation = headers.get('operation-location')
      if (operation !== null) await api().waitForOperation(operation)
    },
    onSuccess: (_, what) => {
      const { done, undo } = WORDS[what]
      tell(`${done} ${service}.`, undo === null ? undefined : () => act.mutate(undo), { of: [boxResource(box)] })
    },
    onError: tellError,
    onSettled: async () => {
      await queries.invalidateQueries({ queryKey: serviceQuery(box, service).queryKey })
      await queries.invalidateQueries({ queryKey: servicesQuery(box).queryKey })
    },
  })
  return act
}

const WORDS: Record<ServiceAct, { done: string; undo: ServiceAct | null }> = {
  startService: { done: 'Started', undo: 'stopService' },
  stopService: { done: 'Stopped', undo: 'startService' },
  promoteService: { done: 'Promoted the preview of', undo: 'rollbackService' },
  rollbackService: { done: 'Rolled back', undo: 'rollbackService' },
  discardService: { done: 'Discarded the preview of', undo: null },
}
