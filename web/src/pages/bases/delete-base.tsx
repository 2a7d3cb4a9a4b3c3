import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import type { Base } from '../../api/records.ts'
import { Confirm } from '../../ui/confirm.tsx'
import { tell, tellError } from '../../ui/toasts.tsx'
import { baseName } from './select-bases.ts'

/** Deletes a base, after listing the boxes that were created from it. They stay. */
export function DeleteBase({ base, close }: { base: Base | null; close(): void }) {
  const queries = useQueryClient()
  const { data: used } = useQuery({
    queryKey: ['base', base?.id],
    queryFn: ({ signal }) => api().call('getBase', { ...inputOf(base), signal }),
    enabled: base !== null,
  })
  const remove = useMutation({
    mutationFn: (each: Base) => api().call('deleteBase', inputOf(each)),
    onSuccess: (_, each) => tell(`Deleted base ${baseName(each)}.`),
    onError: tellError,
    onSettled: () => queries.invalidateQueries({ queryKey: ['bases'] }),
  })
  const name = base ? baseName(base) : ''
  return (
    <Confirm
      title={base?.project === null ? `Delete the shared base ${name}?` : `Delete the base ${name}?`}
      about={`${usersText(used?.used_by ?? null)} You can no longer create boxes from it.`}
      action="Delete"
      typed={base?.name}
      isOpen={base !== null}
      close={close}
      act={() => base && remove.mutate(base)}
    />
  )
}

function usersText(users: Base['used_by']): string {
  if (users === null || users.count === 0) return 'Existing boxes do not change.'
  const names = users.boxes.slice(0, NAMED_MAX).map(({ project, name }) => `${project}/${name}`)
  const more = users.count - names.length
  return `Boxes created from it do not change: ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}.`
}

function inputOf(base: Base | null) {
  // Any project gives access to a shared base, for reads and for its deletion.
  const path = { project: base?.project ?? 'shared', base: base?.name ?? '' }
  return { path, query: { shared: base?.project === null } }
}

const NAMED_MAX = 8
