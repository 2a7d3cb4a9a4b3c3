import { useMutation, useQueryClient } from '@tanstack/react-query'
import { api } from '../../../api/client.ts'
import { boxSnapshotsQuery } from '../../../api/queries.ts'
import type { Box } from '../../../api/records.ts'
import { Dialog } from '../../../ui/dialog.tsx'
import { CheckField, TextField } from '../../../ui/field.tsx'
import { Form, type FormValues } from '../../../ui/form.tsx'
import { NAME_PATTERN } from '../../../ui/refusal-words.ts'
import { tell } from '../../../ui/toasts.tsx'

/** Asks for a name and a comment, and takes a snapshot of a box. */
export function TakeSnapshot({ box, isOpen, close }: { box: Box; isOpen: boolean; close(): void }) {
  const queries = useQueryClient()
  const { project, name, data_mounts: mounts } = box
  const take = useMutation({
    mutationFn: (form: FormValues) => {
      const asked = form.text('name')
      const comment = form.text('comment')
      const body = {
        ...(asked === '' ? {} : { name: asked }),
        ...(comment === '' ? {} : { comment }),
        include_data: form.has('data'),
      }
      return api().call('createBoxSnapshot', { path: { project, name }, body })
    },
    onSuccess: async (snapshot) => {
      close()
      tell(`Took snapshot ${snapshot.name}.`)
      await queries.invalidateQueries({ queryKey: boxSnapshotsQuery(box).queryKey })
    },
  })
  return (
    <Dialog
      title={`Take a snapshot of ${project}/${name}`}
      about="Keeps the current disk. It takes milliseconds while the box runs."
      isOpen={isOpen}
      close={close}
    >
      <Form
        action="Take snapshot"
        isBusy={take.isPending}
        error={take.error}
        close={close}
        send={(form) => take.mutate(form)}
      >
        <TextField
          label="Name"
          name="name"
          autoComplete="off"
          spellCheck={false}
          pattern={NAME_PATTERN}
          hint="a–z, 0–9 and -. If empty, v and the next number."
        />
        <TextField label="Comment" name="comment" autoComplete="off" maxLength={1024} />
        {mounts.length > 0 && (
          <CheckField
            label="Include data volumes"
            name="data"
            apiNames={['include_data']}
            hint={`Includes ${mounts.map((mount) => mount.name).join(', ')} at the same moment. The box pauses for about 20 ms.`}
          />
        )}
      </Form>
    </Dialog>
  )
}
