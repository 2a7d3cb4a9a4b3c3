import { useMutation, useQueryClient } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { boxQuery } from '../../api/queries.ts'
import type { Box } from '../../api/records.ts'
import { tell, tellError } from '../../ui/toasts.tsx'
import { boxResource } from '../../ui/undo-end.ts'

/** Access to the URLs of a box, and the port of its own URL. Null for the default port. */
export interface Access {
  auth: 'token' | 'public'
  port: number | null
}

/** Sets who can use the URLs of a box. Undo restores the earlier setting. A form that requests it shows the refusal itself. */
export function usePublish(box: Box, { isOfForm = false } = {}) {
  const queries = useQueryClient()
  const path = { project: box.project, name: box.name }
  const now = accessOf(box)
  const set = useMutation({
    mutationFn: (access: Access) => api().call('publishBox', { path, body: access }),
    // The value at this moment, because the displayed one changes with the event, which may arrive before the answer.
    onMutate: () => now,
    onSuccess: (after, _, was) => {
      queries.setQueryData(boxQuery(box).queryKey, after)
      const words = after.url_settings.auth === 'public' ? 'public' : 'private'
      tell(`The URLs of ${box.name} are now ${words}.`, () => set.mutate(was), { of: [boxResource(box)] })
    },
    onError: (error) => isOfForm || tellError(error),
  })
  return set
}

/** Returns who can use the URLs of a box now. */
export function accessOf(box: Box): Access {
  return { auth: box.url_settings.auth, port: box.port || null }
}
