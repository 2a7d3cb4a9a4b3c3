import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { api } from '../../../api/client.ts'
import type { Ref } from '../../../api/records.ts'
import { Button } from '../../../ui/button.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { TextField } from '../../../ui/field.tsx'
import { Problem } from '../../../ui/problem.tsx'
import { tell } from '../../../ui/toasts.tsx'
import { textOf } from '../../boxes/form-text.ts'

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
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault()
          fork.mutate(textOf(new FormData(event.currentTarget), 'name'))
        }}
      >
        <TextField
          label="Name of the new box"
          name="name"
          required
          autoComplete="off"
          spellCheck={false}
          defaultValue={`${name}-${snapshot}`}
        />
        {fork.error !== null && <Problem error={fork.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={close}>Cancel</Button>
          <Button type="submit" kind="primary" disabled={fork.isPending}>
            Fork
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
