import { useMutation, useQueryClient } from '@tanstack/react-query'
import { api } from '../../../api/client.ts'
import { boxSnapshotsQuery } from '../../../api/queries.ts'
import type { Box } from '../../../api/records.ts'
import { Button } from '../../../ui/button.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { CheckField, TextField } from '../../../ui/field.tsx'
import { Problem } from '../../../ui/problem.tsx'
import { tell } from '../../../ui/toasts.tsx'
import { textOf } from '../../boxes/form-text.ts'

/** Asks for a name and a comment, and takes a snapshot of a box. */
export function TakeSnapshot({ box, isOpen, close }: { box: Box; isOpen: boolean; close(): void }) {
  const queries = useQueryClient()
  const { project, name, data_mounts: mounts } = box
  const take = useMutation({
    mutationFn: (form: FormData) => {
      const asked = textOf(form, 'name')
      const comment = textOf(form, 'comment')
      const body = {
        ...(asked === '' ? {} : { name: asked }),
        ...(comment === '' ? {} : { comment }),
        include_data: form.has('data'),
      }
      return api().call('createBoxSnapshot', { path: { project, name }, body })
    },
    onSuccess: async (snapshot) => {
      close()
      tell(`The snapshot ${snapshot.name} is taken.`)
      await queries.invalidateQueries({ queryKey: boxSnapshotsQuery(box).queryKey })
    },
  })
  return (
    <Dialog
      title={`Take a snapshot of ${project}/${name}`}
      about="Its disk as it is at this instant, in milliseconds, while it runs."
      isOpen={isOpen}
      close={close}
    >
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault()
          take.mutate(new FormData(event.currentTarget))
        }}
      >
        <TextField
          label="Name"
          name="name"
          autoComplete="off"
          spellCheck={false}
          pattern="[a-z0-9]([a-z0-9\-]*[a-z0-9])?"
          hint="a–z, 0–9 and -; left empty it is v and the next number"
        />
        <TextField label="Comment" name="comment" autoComplete="off" maxLength={1024} />
        {mounts.length > 0 && (
          <CheckField
            label="With its data volumes"
            name="data"
            hint={`${mounts.map((mount) => mount.name).join(', ')}, at the same instant: the box stands still for some 20 ms.`}
          />
        )}
        {take.error !== null && <Problem error={take.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={close}>Cancel</Button>
          <Button type="submit" kind="primary" disabled={take.isPending}>
            Take it
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
