import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { api } from '../../../api/client.ts'
import type { Ref } from '../../../api/records.ts'
import { Dialog } from '../../../ui/dialog.tsx'
import { TextField } from '../../../ui/field.tsx'
import { Form } from '../../../ui/form.tsx'
import { tell } from '../../../ui/toasts.tsx'

/** Makes another box with the disk that a snapshot has. */
export function ForkSnapshot({ box, snapshot, close }: { box: Ref; snapshot: string | null; close(): void }) {
  const { project, name } = box
  const navigate = useNavigate()
  const fork = useMutation({
    mutationFn: (target: string) => api().createBox(project, { name: target, fork: `${name}@${snapshot}` }),
    onSuccess: async (_, target) => {
      close()
      tell(`${project}/${target} is a fork of ${name} as ${snapshot} has it.`)
      await navigate({ to: '/boxes/$project/$name', params: { project, name: target } })
    },
  })
  return (
    <Dialog
      title={`Fork ${name} from ${snapshot ?? ''}`}
      about="Another box with the disk that the snapshot has. This one and its snapshots stay as they are."
      isOpen={snapshot !== null}
      close={close}
    >
      <Form
        action="Fork"
        isBusy={fork.isPending}
        error={fork.error}
        close={close}
        send={(form) => fork.mutate(form.text('name'))}
      >
        <TextField
          label="Name of the new box"
          name="name"
          required
          autoComplete="off"
          spellCheck={false}
          defaultValue={`${name}-${snapshot}`}
        />
      </Form>
    </Dialog>
  )
}
